// Imports a voice from its packages: a folder with archives (the wheel of the model, and those of the pronunciations) or
// with the files themselves. Checks the graph, measures the loudness, and writes the card, in a folder of its own that is
// then renamed into place. A refused voice leaves nothing behind.
import { existsSync, globSync, readdirSync } from 'node:fs';
import { appendFile, copyFile, cp, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { gainDbFor } from '../../audio.ts';
import { archiveEnding } from '../../platform/archives/archive-file.ts';
import { unpackArchive } from '../../platform/archives/unpack-archive.ts';
import { Failure } from '../../platform/errors.ts';
import { join as joinSamples } from '../../platform/pcm.ts';
import { hashFile, makeFolder } from '../../platform/runtime/files.ts';
import { openLockedFolder, removeLeftFolders } from '../../platform/runtime/locks.ts';
import type { BroughtVoice } from '../engine.ts';
import { englishFiles, writeTable } from '../phonemes/english-tables.ts';
import { familyOf } from './families.ts';
import type { Family, FoundSpeaker } from './family.ts';
import { readOnnxModel } from './onnx-file.ts';
import { findRuntime, runtimeMissing } from './onnx-runtime.ts';
import { usualReading } from './reading.ts';
import {
  cardName,
  type InstalledVoice,
  modelName,
  readingOf,
  readVoiceFolders,
  type SpeakerCard,
  toVoiceId,
  type VoiceCard,
  voicesFolder,
} from './voice-folders.ts';
import { openVoiceHost } from './voice-host.ts';

const stageName = '.import-';
const unpackedName = 'unpacked';
const weightsBytesMax = 2 ** 29;
/** Sentences by which the loudness is measured. */
const auditionTexts = [
  'The boat left the harbour early, long before the sun came up.',
  'Nobody on the quay had seen it go, and nobody asked where it went.',
  'Would you like to walk along the river, or shall we wait here until the rain stops?',
  'She counted the letters twice, tied them together, and put them back into the drawer.',
];

/** The voices of larger models are measured by one sentence each. */
const voicesHeardLong = 4;

/** Files of up to four folders deep, as in the archives. */
const shallow = '{,*/,*/*/,*/*/*/}*';
const archivesMax = 16;
/** Kokoro's voices are in a file of numpy, which is a zip. */
const archiveForm = /\.(whl|tgz)$|^voices-v[\w.]*\.bin$/;
const fileForm = /\.onnx(\.json)?$/;

const packagedDictionary = /\/cmu-pronouncing-dictionary[^/]*\/package\/index\.js$/;
const isFor = (as: string, path: string): boolean =>
  path.endsWith(`/${as}`) || (as === 'cmudict.js' && packagedDictionary.test(path));

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

/** Returns the ids of the voices; undefined if `brought` is not a voice of this engine. */
export async function importVoice(brought: BroughtVoice): Promise<readonly string[] | undefined> {
  const path = resolve(brought.path);
  const isFolder = (await stat(path)).isDirectory();
  const isFile = !isFolder && fileForm.test(path);
  const isArchive = (file: string) => file.endsWith('.whl') || archiveEnding.test(file);
  const parts = (brought.parts ?? []).map((part) => part.path);
  if ((!isFolder && !isFile && !isArchive(path)) || !parts.every(isArchive)) return undefined;
  const voices = voicesFolder(brought.dataDir);
  makeFolder(voices);
  await removeLeftFolders(voices, stageName);
  const stage = await openLockedFolder(voices, stageName);
  try {
    const folder = isFile ? dirname(path) : path;
    const isUnpacked = isFolder || isFile;
    const near = isUnpacked
      ? readdirSync(folder)
          .filter((name) => archiveForm.test(name))
          .sort()
      : [];
    const archives = [...(isUnpacked ? near.map((name) => join(folder, name)) : [path]), ...parts];
    const unpacked = join(stage.path, unpackedName);
    makeFolder(unpacked);
    const roots = isUnpacked ? [folder] : [];
    for (const archive of archives.slice(0, archivesMax)) {
      const to = join(unpacked, basename(archive));
      await unpackArchive({ archive, to, signal: brought.signal });
      roots.push(to);
    }
    // The voice is in the first root that has one; the others may have one besides what it needs.
    const files = roots.flatMap((root) => {
      const names = globSync(isFile && root === folder ? '*' : shallow, { cwd: root });
      return names.map((name) => join(root, name)).sort();
    });
    files.unshift(...(await joinParts(files.toSorted(), unpacked)));
    const isOwn = isFile || archives.some((name) => archiveForm.test(name));
    const models = await findModels(isFile ? [path.replace(/\.json$/, '')] : files, isOwn);
    if (isFile && models.length === 0) throw refuse(`${path} is a model of a kind that Sonant does not know`);
    if (models.length > 1 && brought.name !== undefined)
      throw refuse(`${path} has ${models.length} voices; import them without --name, or one by one`);
    const voiceIds: string[] = [];
    for (const model of models) voiceIds.push(...(await importFound(brought, files, model, stage.path)));
    return models.length > 0 ? voiceIds : undefined;
  } finally {
    await stage.remove();
  }
}

/** A model may be split over several packages. */
async function joinParts(files: readonly string[], folder: string): Promise<string[]> {
  const parts = files.filter((path) => /_\d+\/part\.bin$/.test(path));
  if (parts.length === 0) return [];
  const joined = join(folder, modelName);
  for (const part of parts) await appendFile(joined, await readFile(part));
  return [joined];
}

interface Found {
  weights: string;
  family: Family;
}

/**
 * The first model, and the others in its folder if each is a voice of its own. A folder may be a model of another
 * engine, whose files need not be readable here.
 */
async function findModels(files: readonly string[], isOwn: boolean): Promise<Found[]> {
  const found: Found[] = [];
  for (const path of files.filter((each) => each.endsWith('.onnx'))) {
    const [first] = found;
    if (first && (!first.family.isAlone || dirname(path) !== dirname(first.weights))) continue;
    if ((await stat(path)).size > weightsBytesMax) continue;
    try {
      const family = familyOf(readOnnxModel(await readFile(path)));
      if (family && (!first || family === first.family)) found.push({ weights: path, family });
    } catch (error) {
      if (isOwn && !first) throw error;
    }
  }
  return found;
}

async function importFound(
  brought: BroughtVoice,
  files: readonly string[],
  { weights, family }: Found,
  stage: string,
): Promise<string[]> {
  const { dataDir, print } = brought;
  const sha256 = await hashFile(weights);
  const installed = (await readVoiceFolders(dataDir, '')).voices;
  const letters = installed.filter(({ voice }) => ['hibari', 'kokoro'].includes(voice.labels.model!));
  const described = await family.describe({ weights, sha256, files, installed: letters.map(({ folder }) => folder) });
  const modelId = brought.name ?? described.name ?? basename(weights, '.onnx');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/.test(modelId)) {
    throw refuse(
      `${modelId} is not a valid name of a voice: use letters, digits, ".", "_" and "-"; choose another name with --name`,
    );
  }
  const target = join(voicesFolder(dataDir), modelId);
  const taken = () => refuse(`voice ${modelId} already exists; remove it, or choose another name with --name`);
  if (existsSync(target)) throw taken();
  const staged = join(stage, `checked-${modelId}`);
  makeFolder(staged);
  const { speakers, files: own } = described;
  const words = await findWordFiles(speakers, files, installed);
  const copied = { [modelName]: weights, ...own };
  const found = { ...copied, ...Object.fromEntries(words.map(({ source, path }) => [source, path])) };
  const missing = Object.entries(found).flatMap(([as, path]) => (path === undefined ? [as] : []));
  if (missing.length > 0) throw refuse(`the voice ${modelId} also needs ${missing.join(', ')} in the same folder`);
  await checkHashes(found, brought.files ?? {});
  for (const [as, path] of Object.entries(copied)) await copyFile(path!, join(staged, as));
  for (const { is, as, path } of words) {
    const [from, to] = [path!, join(staged, as)];
    if (basename(from) === as) await cp(from, to, { recursive: true });
    else if (is === 'net') await unpackArchive({ archive: from, to, signal: brought.signal });
    else await writeTable({ is, from, to }, brought.signal);
  }
  for (const path of files.filter((file) => /\/(LICENSE|NOTICE)(\.[\w.]+)?$/i.test(file)))
    await copyFile(path, join(staged, `${packageOf(path, stage)}-${basename(path)}`));
  if (brought.source) await writeFile(join(staged, 'sonant-source.json'), JSON.stringify(brought.source, null, 2));
  const voices = speakers.map((speaker) => toCard(speaker, modelId));
  const card: VoiceCard = { family: family.name, sha256, voices };
  print(`${modelId} is a voice of the family ${family.name}; measuring its loudness`);
  await measureGains(staged, voices, brought);
  await writeFile(join(staged, cardName), `${JSON.stringify(card, null, 2)}\n`);
  brought.signal.throwIfAborted();
  await rename(staged, target).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOTEMPTY' || error.code === 'EEXIST' ? taken() : error;
  });
  return voices.map(({ id }) => toVoiceId(modelId, id));
}

/** The package that a file is from, or its folder. */
const packageOf = (path: string, stage: string): string =>
  path.startsWith(join(stage, unpackedName)) ? path.slice(stage.length).split(sep)[2]! : basename(dirname(path));

/** The files by which the words of the voices are pronounced, among `files`, or those of an installed voice. */
async function findWordFiles(
  speakers: readonly FoundSpeaker[],
  files: readonly string[],
  voices: readonly InstalledVoice[],
) {
  const readings = speakers.map(({ languageCode, reading = usualReading(languageCode) }) => reading);
  const rows = readings.flatMap((each) => (each.by === 'english' ? englishFiles(each.accent) : []));
  const prepared = (as: string) => [...files, ...voices.map(({ folder }) => join(folder, as))];
  return [...new Map(rows.map((row) => [row.as, row])).values()].map((row) => ({
    ...row,
    path:
      files.find((file) => isFor(row.source, file)) ??
      prepared(row.as).find((path) => basename(path) === row.as && existsSync(path)),
  }));
}

function toCard({ id, name, languageCode, gender, reading }: FoundSpeaker, modelId: string): SpeakerCard {
  const language = new Intl.DisplayNames('en', { type: 'language' }).of(languageCode);
  const person = gender === undefined ? 'voice' : gender === 'male' ? 'man' : 'woman';
  return {
    id,
    name: toTitle(name ?? modelId),
    description: `${language} ${person}, natural and clear`,
    language_codes: [...new Set([languageCode, new Intl.Locale(languageCode).language])],
    labels: gender === undefined ? {} : { gender },
    gain_db: 0,
    ...(reading && { reading }),
  };
}

const toTitle = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

async function checkHashes(
  paths: Readonly<Record<string, string | undefined>>,
  wanted: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [as, sha256] of Object.entries(wanted)) {
    const found = await hashFile(paths[as]!);
    if (found !== sha256) throw refuse(`${as} must have the SHA-256 ${sha256}, and has ${found}; it is not used`);
  }
}

async function measureGains(folder: string, voices: SpeakerCard[], { signal, print }: BroughtVoice): Promise<void> {
  const runtime = findRuntime();
  if (!runtime) throw refuse(runtimeMissing);
  const host = openVoiceHost(runtime, 1, () => folder);
  const readings = voices.map(readingOf);
  // If a model also speaks English, its voices of other languages are measured by it, without eSpeak NG.
  const english = readings.find(({ by }) => by === 'english');
  const usual = { speed: 1, seed: 0, gainDb: 0, timings: false };
  try {
    for (const [n, voice] of voices.entries()) {
      const own = readings[n]!;
      const reading = own.by === 'espeak' ? (english ?? own) : own;
      if (n > 0 && n % voicesHeardLong === 0) print(`${n} of ${voices.length} voices are measured`);
      const parts: Int16Array[] = [];
      let sampleRateHz = 0;
      for (const text of voices.length > voicesHeardLong ? auditionTexts.slice(0, 1) : auditionTexts) {
        const asked = { ...usual, text, reading, speakers: [{ id: voice.id, weight: 1 }] };
        for await (const piece of host.speak('', asked, signal)) {
          parts.push(piece.samples);
          ({ sampleRateHz } = piece);
        }
      }
      voice.gain_db = Math.round(10 * gainDbFor({ samples: joinSamples(Int16Array, parts), sampleRateHz })) / 10;
    }
  } finally {
    await host.close();
  }
}
