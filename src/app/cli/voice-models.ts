// `sonant voice get|models|remove`: installs neural models by name, URL or file, lists models, and removes them.
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { VoiceModelSchema } from '../../../gen/sonant/v1/model_pb.ts';
import { toModel } from '../../api.ts';
import { writeMessage } from '../../contract.ts';
import { type BroughtVoice, registry } from '../../engines.ts';
import {
  type ModelEngine,
  type ModelFolder,
  type ModelRow,
  type OfferedModel,
  openModelFolder,
  type Progress,
} from '../../library.ts';
import { isSpokenBy } from '../../platform/language-code.ts';
import { isLoopbackUrl } from '../../platform/net/client-addresses.ts';
import { createRecentRate } from '../../platform/recent-rate.ts';
import { didYouMean } from '../../platform/runtime/nearest-name.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import { CommandError, type CommandLine, formatTable, onlyArgument, UsageError, withOpened } from './command.ts';
import { createProgressBar } from './progress.ts';
import type { VoiceFlags } from './voice-flags.ts';
import { makeDefault } from './voice-names.ts';

export async function getVoice(
  line: CommandLine,
  flags: VoiceFlags,
  [wanted, ...files]: readonly string[],
): Promise<void> {
  if (wanted === undefined) throw new UsageError('usage: sonant voice get NAME|URL|FILE');
  const print = flags.json ? () => {} : line.print;
  const config = line.loadConfig();
  const { modelsUrl, modelsOffline } = config;
  const folder = openModelFolder(config, registry);
  const found = await findModel(wanted, folder);
  if (found === 'file') return getFile({ ...line, print }, line.print, flags, wanted);
  const { row } = found.offered;
  await acceptLicence(row, flags, { ...line, print });
  await acceptLibrary(found.offered.engine, flags, line);
  const bar = createGetBar();
  const printOver = (text: string) => {
    bar.clear();
    print(text);
  };
  const getting = folder.get(found.offered, {
    // A URL that the user gave is never replaced by a URL of the mirror.
    modelsUrl: found.isUrl ? '' : modelsUrl,
    files,
    signal: line.signal,
    print: printOver,
    onProgress: bar.show,
    onRetry({ host, why, pauseMs, attempt, attemptsMax }) {
      const next = `trying again in ${pauseMs / 1000} s (attempt ${attempt} of ${attemptsMax})`;
      bar.clear();
      process.stderr.write(`sonant: cannot download from ${host}: ${why}; ${next}\n`);
    },
    ...(flags.name !== undefined && { name: flags.name }),
    isOffline: flags.offline || modelsOffline,
    beforePrepare(engine) {
      bar.clear();
      return acceptLibrary(engine, flags, line);
    },
  });
  const { name, voiceIds } = await getting.finally(bar.clear);
  if (!voiceIds) print(`${name} is already installed; sonant voice remove ${name} removes it`);
  else print(describeInstalled(name, voiceIds, row));
  const made = flags.default
    ? await makeBestDefault(
        { ...line, print },
        voiceIds ? (voiceId) => voiceIds.includes(voiceId) : await folder.ownerOf(found.offered, name),
        `${name}-${row.bestVoice}`,
      )
    : undefined;
  if (flags.json)
    line.print(
      JSON.stringify({ model: name, is_new: !!voiceIds, voice_ids: voiceIds ?? null, ...made, ...licenceOf(row) }),
    );
}

/** Makes the wanted voice the default voice if it belongs to the model, or else the model's first voice. */
async function makeBestDefault(line: CommandLine, isOwn: (voiceId: string) => boolean, wanted?: string) {
  return withOpened(await line.openVoiceManagement(registry), async (opened) => {
    const own = opened.voices.list().flatMap(({ voice: { voiceId } }) => (isOwn(voiceId) ? voiceId : []));
    const chosen = own.find((voiceId) => voiceId === wanted) ?? own[0];
    if (chosen === undefined) throw new CommandError('the model has no voice that can be the default');
    line.print(await makeDefault(opened, chosen));
    return { chosen_voice_id: chosen };
  });
}

const licenceOf = ({ licence, licenceSource, commercial }: ModelRow) => ({
  licence,
  licence_source: licenceSource,
  commercial,
});

const describeInstalled = (name: string, voiceIds: readonly string[], row: ModelRow): string =>
  [
    voiceIds.length === 0 ? `${name} is installed and can clone voices.` : `${name} is installed, with these voices:`,
    ...voiceIds.map((voiceId) => `  ${voiceId}`),
    `Licence: ${row.licence ?? 'not known'}${row.licenceSource === null ? '' : ` (${row.licenceSource})`}`,
  ].join('\n');

/** Finds a model by URL, by name in the table, or else as a file. */
async function findModel(
  wanted: string,
  folder: ModelFolder,
): Promise<'file' | { offered: OfferedModel; isUrl: boolean }> {
  if (/^https?:\/\//.test(wanted)) {
    if (!URL.canParse(wanted)) throw new UsageError(`${wanted} is not a valid URL`);
    // Without a checksum, anyone on the network path could change the file.
    if (!/^https:/.test(wanted) && !isLoopbackUrl(wanted)) throw new UsageError(`${wanted} must begin with https:`);
    return { offered: folder.ofUrl(wanted), isUrl: true };
  }
  const offered = await folder.find(wanted);
  if (offered) return { offered, isUrl: false };
  if (existsSync(wanted)) return 'file';
  const meant = await folder.suggest(wanted);
  throw new UsageError(`there is no model or file ${wanted}${meant || ';'} sonant voice models lists the models`);
}

async function getFile(
  line: CommandLine,
  printResult: (text: string) => void,
  flags: VoiceFlags,
  path: string,
): Promise<void> {
  const { name, json } = flags;
  const { dataDir, modelsOffline } = line.loadConfig();
  const isOffline = flags.offline || modelsOffline;
  const { signal, print } = line;
  const source = { path: resolve(path), dataDir, ...(name !== undefined && { name }), signal, print };
  const voiceIds = await importVoice(source, async (engine) => {
    await acceptLibrary(engine, flags, line);
    await engine.models.prepare({ dataDir, isOffline, signal, print });
  });
  if (!voiceIds) throw new CommandError(`${path} is not a model; use sonant voice import for exported voices`);
  const made = flags.default && (await makeBestDefault(line, (voiceId) => voiceIds.includes(voiceId)));
  if (json) printResult(JSON.stringify({ voice_ids: voiceIds, ...made }));
}

async function acceptLicence(row: ModelRow, flags: VoiceFlags, line: CommandLine): Promise<void> {
  const parts = row.parts.map(({ as, licence }) => `; ${as}: ${licence ?? 'not known'}`).join('');
  const licence = `${row.licence ?? 'not known'}${row.licenceSource === null ? '' : `, ${row.licenceSource}`}${parts}`;
  line.print(`${row.title}. Licence: ${licence}`);
  if (row.commercial !== false || flags['accept-licence']) return;
  const reason = `the licence of ${row.name} (${licence}) does not allow commercial use`;
  await accept(reason, '--accept-licence', line);
}

/** Asks the user to accept the library's licence, unless the library exists, downloads are off, or `--yes` is given. */
async function acceptLibrary(
  { models: { library } }: ModelEngine,
  flags: VoiceFlags,
  line: CommandLine,
): Promise<void> {
  const { dataDir, modelsOffline } = line.loadConfig();
  if (flags.yes || flags.offline || modelsOffline || library.isHere(dataDir)) return;
  await accept(`${library.name}, which runs the model, is under ${library.licence}`, '--yes', line);
}

async function accept(reason: string, flag: string, { ask, signal }: CommandLine): Promise<void> {
  if (!ask) throw new CommandError(`${reason}; if you accept it, add ${flag}`);
  const answer = await ask(`Type "yes" to accept that ${reason}: `, signal);
  if (answer.trim().toLowerCase() !== 'yes') throw new CommandError(`${reason}, and you did not accept it`);
}

function createGetBar() {
  const bar = createProgressBar(process.stderr);
  let file = '';
  let rate = createRecentRate();
  return {
    clear: () => bar.clear(),
    show({ what, done, total, unit }: Progress) {
      if (unit === 'share') return bar.show(done, what);
      if (what !== file) [file, rate] = [what, createRecentRate()];
      rate.note(done);
      bar.show(total ? done / total : 0, `${what}, ${explainRate(done, total, rate.perSecond())}`);
    },
  };
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function explainRate(done: number, total: number | undefined, bytesPerSecond: number): string {
  const size = total === undefined ? `${megabytes(done)} MB` : `${megabytes(done)} of ${megabytes(total)} MB`;
  if (bytesPerSecond <= 0) return size;
  const left = total === undefined ? '' : `, ${explainSeconds((total - done) / bytesPerSecond)} left`;
  return `${size}, ${megabytes(bytesPerSecond)} MB/s${left}`;
}

const explainSeconds = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;

export async function printModels(
  line: CommandLine,
  { language, json }: VoiceFlags,
  rest: readonly string[],
): Promise<void> {
  const [name, ...more] = rest;
  if (more.length > 0) throw new UsageError('usage: sonant voice models [NAME]');
  const listed = await openModelFolder(line.loadConfig(), registry).list();
  const all = listed.map((model): Record<string, any> => writeMessage(VoiceModelSchema, toModel(model, [])));
  const wanted = all.filter(
    (model) =>
      (name === undefined || model.name === name) &&
      (language === undefined || isSpokenBy({ languageCodes: model.languages }, language)),
  );
  if (name !== undefined && wanted.length === 0)
    throw new CommandError(
      `there is no model ${name}${didYouMean(
        name,
        all.map((model) => model.name),
      )}`,
    );
  if (json) return line.print(JSON.stringify({ models: wanted }, null, 2));
  if (name !== undefined)
    return line.print(formatTable(Object.entries(wanted[0]!).map(([key, value]) => [key, toCell(value)])));
  line.print(formatTable([heading, ...wanted.map(toCells)], { stateColumn: 1 }));
}

const notKnown = 'not known';
const toCell = (value: unknown): string => {
  if (value === null || value === '') return notKnown;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

const heading = ['MODEL', 'STATE', 'LANGUAGES', 'VOICES', 'SIZE', 'CHECKED BY', 'COMMERCIAL USE', 'LICENCE', 'CPU'];
const languagesShown = 4;
const checks: Readonly<Record<string, string>> = { archive: 'SHA-256', weights: 'SHA-256 of the weights' };

function toCells({ name, languages, voices, bytes, commercial, ...model }: Record<string, any>): string[] {
  const shown = languages.slice(0, languagesShown).join(',');
  const more = languages.length > languagesShown ? ` and ${languages.length - languagesShown} more` : '';
  return [
    name,
    model.installed ? 'ready' : 'absent',
    toCell(shown + more),
    voices === 0 ? 'clones' : toCell(voices),
    bytes === null ? notKnown : `${Math.round(bytes / 1e6)} MB`,
    checks[model.checked_by] ?? 'not pinned',
    commercial === null ? notKnown : commercial ? 'yes' : 'no',
    toCell(model.licence),
    toCell(model.cost),
  ];
}

export async function removeVoiceModel(
  line: CommandLine,
  { json }: VoiceFlags,
  rest: readonly string[],
): Promise<void> {
  const name = onlyArgument(rest, 'sonant voice remove NAME');
  const folder = openModelFolder(line.loadConfig(), registry);
  const waiting = { signal: line.signal, print: json ? () => {} : line.print };
  if (await folder.remove(name, waiting))
    return line.print(json ? JSON.stringify({ model: name, removed: true }) : `${name} is removed`);
  const meant = didYouMean(name, await folder.installed()) || ';';
  throw new CommandError(`model ${name} is not installed${meant} to delete a stored voice, use sonant voice delete`);
}

/**
 * Imports a voice or model of an engine. Returns the ids of its voices (none if the model is for cloning only), or
 * undefined if no engine can import the file. `prepare` installs what an engine needs, when the engines before it have
 * left the file to it. Throws a Failure with all errors in the file.
 */
export async function importVoice(
  source: BroughtVoice,
  prepare?: (engine: ModelEngine) => Promise<void>,
): Promise<readonly string[] | undefined> {
  const { path, print } = source;
  await stat(path).catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${reasonOf(error)}`);
  });
  for (const engine of registry) {
    if (engine.models) await prepare?.({ ...engine, models: engine.models });
    const voiceIds = await engine.importVoice?.(source);
    if (!voiceIds) continue;
    print(voiceIds.length > 0 ? `imported for ${engine.name}:` : `imported for ${engine.name}; it can clone voices`);
    for (const voiceId of voiceIds) print(`  ${voiceId}`);
    return voiceIds;
  }
  return undefined;
}
