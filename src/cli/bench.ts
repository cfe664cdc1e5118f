// `sonant bench URL`: what a running service bears, as its callers see it: calls a second, time to the first sound and
// to the last, seconds of speech in a second, and what it refuses. A row a second while it runs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, CommandError, type CommandLine, parseCommandArgs, UsageError } from './command.ts';
import { createLoadTally, type Told } from './load/load-tally.ts';
import { runLoad } from './load/run-load.ts';
import { type CallerOptions, openCaller, Refusal, type ServiceCaller, ways } from './load/service-caller.ts';

const options = {
  key: { type: 'string' },
  way: { type: 'string' },
  clients: { type: 'string', short: 'c' },
  seconds: { type: 'string', short: 's' },
  requests: { type: 'string', short: 'n' },
  voice: { type: 'string', short: 'v' },
  text: { type: 'string' },
  json: { type: 'boolean' },
} as const;

type Flags = Partial<Record<Exclude<keyof typeof options, 'json'>, string>> & { json?: boolean };

const limits = { clients: 1_000, seconds: 86_400, requests: 100_000_000 };
const usualText = 'The kettle had just begun to sing when somebody knocked, twice, at the door of the little house';

export const benchCommand: Command = {
  name: 'bench',
  summary: 'load a running service and tell how it bears it',
  options,
  choices: { way: ways },
  help: () => `Usage: sonant bench URL [--clients N] [--seconds N] [options]

Clients ask for speech, each again as soon as its last sound has come to its end, and a row is printed each second.
Every text is another one and no cache is used, so that all is spoken. Who is told to wait, waits: such answers count as
throttled, not as failed. Exits with 1 if a call failed.

      --key KEY        an API key; default: SONANT_API_KEY, else the one in first-key in the data folder
      --way WAY        ${ways.join(', ')}; default: ${ways[0]}. For grpc, URL is that of the gRPC port
  -c, --clients N      default: 4
  -s, --seconds N      how long new calls begin; default: 10
  -n, --requests N     how many calls at most; default: no limit
  -v, --voice ID       who speaks; default: the first that the key may hear
      --text TEXT      what is spoken, with a number behind it; default: a sentence of ${usualText.length} characters
      --json           print JSON at the end, for programs, and no rows
`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const flags: Flags = values;
    const load = toLoad(flags);
    const way = flags.way ?? ways[0]!;
    if (!ways.includes(way)) throw new UsageError(`--way ${way}: must be one of ${ways.join(', ')}`);
    const url = toUrl(positionals);
    const caller = openCaller(way, { url, apiKey: await findKey(flags, line) });
    const voiceId = flags.voice ?? (await findVoice(caller, url));
    const about = { url, way, clients: load.clients, voice_id: voiceId };
    const tally = createLoadTally();
    const stopRows = flags.json ? () => {} : printRows(tally.tellSince, line.print);
    await runLoad({ ...load, voiceId }, caller, tally, line.signal).finally(stopRows);
    const told = tally.tellAll();
    line.print(flags.json ? JSON.stringify({ ...about, ...told }, null, 2) : tellEnd(told));
    return told.failed > 0 || told.done === 0 ? 1 : 0;
  },
};

function toLoad({ text = usualText, ...flags }: Flags) {
  const count = (name: keyof typeof limits, usual: number): number => {
    const value = flags[name] === undefined ? usual : Number(flags[name]);
    if (Number.isInteger(value) && value >= 1 && value <= limits[name]) return value;
    throw new UsageError(`--${name} ${flags[name]}: must be a whole number from 1 to ${limits[name]}`);
  };
  // What a service has spoken before, it may have kept: two loads have no text in common either.
  const first = Date.now() % 1_000_000;
  return {
    clients: count('clients', 4),
    seconds: count('seconds', 10),
    callsMax: count('requests', limits.requests),
    textOf: (call: number) => `${text} ${first + call}.`,
  };
}

function toUrl([given, ...rest]: readonly string[]): string {
  if (given === undefined || rest.length > 0) throw new UsageError('the command is sonant bench URL');
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError(`${given} is no address such as http://127.0.0.1:8080`);
  return given.replace(/\/+$/, '');
}

async function findKey({ key }: Flags, { loadConfig }: CommandLine): Promise<CallerOptions['apiKey']> {
  const given = key ?? process.env.SONANT_API_KEY;
  if (given) return given;
  const file = join(loadConfig().dataDir, 'first-key');
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => {
      throw new UsageError(`give a key: --key KEY or SONANT_API_KEY; there is none in ${file}`);
    },
  );
}

async function findVoice(caller: ServiceCaller, url: string): Promise<string> {
  const voiceId = await caller.firstVoice().catch((error: Error & { cause?: Error }) => {
    const told = error instanceof Refusal ? error.message : (error.cause?.message ?? error.message);
    throw new CommandError(`cannot ask ${url} for its voices: ${told}`);
  });
  if (voiceId === undefined) throw new CommandError('the key may hear no voice; make one that may');
  return voiceId;
}

const columns: readonly (readonly [head: string, cell: (told: Told) => string])[] = [
  ['DONE', ({ done }) => String(done)],
  ['FAILED', ({ failed }) => String(failed)],
  ['THROTTLED', ({ throttled }) => String(throttled)],
  ['A SECOND', ({ done_per_second }) => done_per_second.toFixed(1)],
  ['SPOKEN', ({ audio_seconds_per_second }) => `${audio_seconds_per_second.toFixed(1)} s/s`],
  ['FIRST SOUND p50', ({ first_sound_ms: times }) => toMs(times?.p50)],
  ['p95', ({ first_sound_ms: times }) => toMs(times?.p95)],
  ['WHOLE p50', ({ whole_ms: times }) => toMs(times?.p50)],
  ['p95', ({ whole_ms: times }) => toMs(times?.p95)],
];
const toMs = (ms: number | undefined) => (ms === undefined ? '-' : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`);
const cellCharsMin = 9;
const toRow = (label: string, cells: readonly string[]) =>
  [label.padEnd(6), ...cells.map((cell, at) => cell.padStart(Math.max(cellCharsMin, columns[at]![0].length)))].join(
    ' ',
  );

const heading = () =>
  toRow(
    'SECOND',
    columns.map(([head]) => head),
  );
const rowOf = (label: string, told: Told) =>
  toRow(
    label,
    columns.map(([, cell]) => cell(told)),
  );

/** A row each second; answers what ends it. */
function printRows(tellSince: () => Told, print: (text: string) => void): () => void {
  print(heading());
  let second = 0;
  const timer = setInterval(() => print(rowOf(String(++second), tellSince())), 1000);
  return () => clearInterval(timer);
}

function tellEnd(told: Told): string {
  const refused = Object.entries(told.refusals).map(([words, count]) => `${String(count).padStart(6)} ${words}`);
  return [rowOf('all', told), ...(refused.length > 0 ? ['', 'Not answered with sound:', ...refused] : [])].join('\n');
}
