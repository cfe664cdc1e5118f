// `sonant bench URL`: load test of a running service from the outside: throughput, time to first and last sound, seconds
// of speech per second, and errors. Prints a row a second while it runs.
import { type Command, CommandError, onlyArgument, parseCommandArgs, UsageError } from './command.ts';
import { createLoadTally, type LoadReport } from './load/load-tally.ts';
import { runLoad } from './load/run-load.ts';
import { openCaller, Refusal, type ServiceCaller, ways } from './load/service-caller.ts';
import { findServiceKey, parseServiceUrl } from './service-address.ts';

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
const defaultText = 'The kettle had just begun to sing when somebody knocked, twice, at the door of the little house';

export const benchCommand: Command = {
  name: 'bench',
  summary: 'load-test a running service',
  options,
  choices: { way: ways },
  help: () => `Usage: sonant bench URL [--clients N] [--seconds N] [options]

Each client requests speech, one call after the other, and a row is printed each second. Every text is different and the
cache is bypassed, so that everything is synthesized. A client that gets Retry-After waits; such replies count as
throttled, not as failed. Exits with 1 if a call failed.

      --key KEY        an API key; default: SONANT_API_KEY, else, for a service on this
                       machine, the one in first-key in the data folder
      --way WAY        ${ways.join(', ')}; default: ${ways[0]}. For grpc, URL is that of the gRPC port
  -c, --clients N      concurrent clients; default: 4
  -s, --seconds N      for how long new calls start; default: 10
  -n, --requests N     maximum number of calls; default: no limit
  -v, --voice ID       the voice; default: the first one that the key may use
      --text TEXT      the text, to which a number is appended; default: a sentence of ${defaultText.length} characters
      --json           print JSON at the end, for programs, and no rows
`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const flags: Flags = values;
    const load = toLoad(flags);
    const way = flags.way ?? ways[0]!;
    if (!ways.includes(way)) throw new UsageError(`--way ${way}: must be one of ${ways.join(', ')}`);
    const url = parseServiceUrl(onlyArgument(positionals, 'sonant bench URL'));
    const caller = openCaller(way, { url, apiKey: await findServiceKey(flags.key, url, line) });
    const voiceId = flags.voice ?? (await findVoice(caller, url));
    const about = { url, way, clients: load.clients, voice_id: voiceId };
    const tally = createLoadTally();
    const stopRows = flags.json ? () => {} : printRows(tally.reportInterval, line.print);
    await runLoad({ ...load, voiceId }, caller, tally, line.signal).finally(stopRows);
    const total = tally.reportTotal();
    line.print(flags.json ? JSON.stringify({ ...about, ...total }, null, 2) : formatTotal(total));
    return total.failed > 0 || total.done === 0 ? 1 : 0;
  },
};

function toLoad({ text = defaultText, ...flags }: Flags) {
  const count = (name: keyof typeof limits, fallback: number): number => {
    const value = flags[name] === undefined ? fallback : Number(flags[name]);
    if (Number.isInteger(value) && value >= 1 && value <= limits[name]) return value;
    throw new UsageError(`--${name} ${flags[name]}: must be a whole number from 1 to ${limits[name]}`);
  };
  // The service may have cached the texts of an earlier run, so each run has its own.
  const first = Date.now() % 1_000_000;
  return {
    clients: count('clients', 4),
    seconds: count('seconds', 10),
    callsMax: count('requests', limits.requests),
    textOf: (call: number) => `${text} ${first + call}.`,
  };
}

async function findVoice(caller: ServiceCaller, url: string): Promise<string> {
  const voiceId = await caller.firstVoice().catch((error: Error & { cause?: Error }) => {
    const reason = error instanceof Refusal ? error.message : (error.cause?.message ?? error.message);
    throw new CommandError(`cannot ask ${url} for its voices: ${reason}`);
  });
  if (voiceId === undefined) throw new CommandError('the key may use no voice; create one that may');
  return voiceId;
}

const columns: readonly (readonly [head: string, cell: (report: LoadReport) => string])[] = [
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
const rowOf = (label: string, report: LoadReport) =>
  toRow(
    label,
    columns.map(([, cell]) => cell(report)),
  );

/** Prints a row each second; returns a function that stops this. */
function printRows(reportInterval: () => LoadReport, print: (text: string) => void): () => void {
  print(heading());
  let second = 0;
  const timer = setInterval(() => print(rowOf(String(++second), reportInterval())), 1000);
  return () => clearInterval(timer);
}

function formatTotal(report: LoadReport): string {
  const errors = Object.entries(report.refusals).map(([words, count]) => `${String(count).padStart(6)} ${words}`);
  return [rowOf('all', report), ...(errors.length > 0 ? ['', 'Errors:', ...errors] : [])].join('\n');
}
