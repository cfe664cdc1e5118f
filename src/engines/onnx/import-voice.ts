// Imports a voice from its packages: a folder with archives (the wheel of the model, and those of the pronunciations) or
// with the files themselves. Checks the graph, measures the loudness, and writes the card, in a folder of its own that is
// then renamed into place. A refused voice leaves nothing behind.
import { existsSync, globSync, readdirSync } from 'node:fs';
import { copyFile, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { unpackArchive } from '../../archives/unpack-archive.ts';
import { gainDbFor } from '../../audio/loudness.ts';
import { join as joinSamples } from '../../audio/pcm.ts';
import { Failure } from '../../errors.ts';
import { hashFile, makeFolder } from '../../runtime/files.ts';
import { openLockedFolder, removeLeftFolders } from '../../runtime/locks.ts';
import type { BroughtVoice } from '../engine.ts';
import { hibari } from './hibari.ts';
import { type Accent, accentOf } from './kokoro-letters.ts';
import { readOnnxModel } from './onnx-file.ts';
import { findRuntime, runtimeMissing } from './onnx-runtime.ts';
import { cardName, modelName, type VoiceCard, vocabularyName, voicesFolder } from './voice-folders.ts';
import { openVoiceHost } from './voice-host.ts';

const stageName = '.import-';
const weightsBytesMax = 2 ** 26;
/** Sentences by which the loudness is measured. */
const auditionTexts = [
  'The boat left the harbour early, long before the sun came up.',
  'Nobody on the quay had seen it go, and nobody asked where it went.',
  'Would you like to walk along the river, or shall we wait here until the rain stops?',
  'She counted the letters twice, tied them together, and put them back into the drawer.',
];

/** Files of up to four folders deep, as in the archives. */
const shallow = '{,*/,*/*/,*/*/*/}*';
const archivesMax = 16;
const archiveForm = /\.(whl|tgz)$/;

const dictionaryName = 'cmudict.js';

/** The files by which words are pronounced (src/text/phonemes/english.ts). */
const pronunciationFiles = (accent: Accent): string[] => [
  `lexicon_${accent.toLowerCase()}_gold.json.gz`,
  `lexicon_${accent.toLowerCase()}_silver.json.gz`,
  'tagger.json.gz',
  'oov_bart_en_us.npz',
  dictionaryName,
];

/** Names that files have in their packages, if they differ. */
const packagedNames: Readonly<Record<string, RegExp>> = {
  [vocabularyName]: /\/vocab\.json$/,
  [dictionaryName]: /\/cmu-pronouncing-dictionary[^/]*\/package\/index\.js$/,
};
const isFor = (as: string, path: string): boolean => path.endsWith(`/${as}`) || !!packagedNames[as]?.test(path);

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

/** Returns the id of the voice; undefined if `brought` is not a voice of this engine. */
export async function importVoice(brought: BroughtVoice): Promise<readonly string[] | undefined> {
  const path = resolve(brought.path);
  const isFolder = (await stat(path)).isDirectory();
  if (!isFolder && !path.endsWith('.whl')) return undefined;
  const voices = voicesFolder(brought.dataDir);
  makeFolder(voices);
  await removeLeftFolders(voices, stageName);
  const stage = await openLockedFolder(voices, stageName);
  try {
    const archives = isFolder
      ? readdirSync(path).flatMap((name) => (archiveForm.test(name) ? join(path, name) : []))
      : [path, ...(brought.parts ?? []).map((part) => part.path)];
    const unpacked = join(stage.path, 'unpacked');
    makeFolder(unpacked);
    const roots = isFolder ? [path] : [];
    for (const archive of archives.sort().slice(0, archivesMax)) {
      const to = join(unpacked, basename(archive));
      await unpackArchive({ archive, to, signal: brought.signal });
      roots.push(to);
    }
    const files = roots.flatMap((root) => globSync(shallow, { cwd: root }).map((name) => join(root, name))).sort();
    const weights = await findWeights(files, archives.length > 0);
    return weights === undefined ? undefined : [await importFound(brought, files, weights, stage.path)];
  } finally {
    await stage.remove();
  }
}

/** The model's file. A folder may be a model of another engine, whose file need not be readable here. */
async function findWeights(files: readonly string[], isOwn: boolean): Promise<string | undefined> {
  for (const path of files.filter((each) => each.endsWith('.onnx'))) {
    if ((await stat(path)).size > weightsBytesMax) continue;
    try {
      if (hibari.isOwn(readOnnxModel(await readFile(path)))) return path;
    } catch (error) {
      if (isOwn) throw error;
    }
  }
  return undefined;
}

async function importFound(
  brought: BroughtVoice,
  files: readonly string[],
  weights: string,
  stage: string,
): Promise<string> {
  const sha256 = await hashFile(weights);
  const facts = await readFacts(join(dirname(weights), 'voices.json'), sha256);
  const { language = 'en-US', gender } = facts;
  const accent = accentOf(language);
  const voiceId = brought.name ?? basename(weights, '.onnx');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/.test(voiceId)) {
    throw refuse(
      `${voiceId} is not a valid name of a voice: use letters, digits, ".", "_" and "-"; choose another name with --name`,
    );
  }
  const target = join(voicesFolder(brought.dataDir), voiceId);
  const taken = () => refuse(`voice ${voiceId} already exists; remove it, or choose another name with --name`);
  if (existsSync(target)) throw taken();
  const staged = join(stage, 'checked');
  makeFolder(staged);
  await copyFile(weights, join(staged, modelName));
  const wanted = [vocabularyName, ...pronunciationFiles(accent)];
  const found = wanted.map((as) => ({ as, path: files.find((file) => isFor(as, file)) }));
  const missing = found.filter(({ path }) => path === undefined).map(({ as }) => as);
  if (missing.length > 0) throw refuse(`the voice ${voiceId} also needs ${missing.join(', ')} in the same folder`);
  for (const { as, path } of found) await copyFile(path!, join(staged, as));
  await checkHashes(staged, brought.files ?? {});
  for (const path of files.filter((file) => /\/(LICENSE|NOTICE)(\.[\w.]+)?$/i.test(file)))
    await copyFile(path, join(staged, `${basename(dirname(path))}-${basename(path)}`));
  const card: VoiceCard = {
    family: 'hibari',
    sha256,
    name: toTitle(facts.name ?? voiceId),
    description: `${accent === 'GB' ? 'British' : 'American'} ${gender === 'male' ? 'man' : 'woman'}, natural and clear`,
    language_codes: [language, 'en'],
    labels: gender === undefined ? {} : { gender },
    gain_db: 0,
  };
  if (brought.source) await writeFile(join(staged, 'sonant-source.json'), JSON.stringify(brought.source, null, 2));
  brought.print(`${voiceId} is a voice of the family hibari; measuring its loudness`);
  card.gain_db = await measureGain(staged, accent, brought.signal);
  await writeFile(join(staged, cardName), `${JSON.stringify(card, null, 2)}\n`);
  brought.signal.throwIfAborted();
  await rename(staged, target).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOTEMPTY' || error.code === 'EEXIST' ? taken() : error;
  });
  return voiceId;
}

const toTitle = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

async function checkHashes(staged: string, wanted: Readonly<Record<string, string>>): Promise<void> {
  for (const [as, sha256] of Object.entries(wanted)) {
    const found = await hashFile(join(staged, as));
    if (found !== sha256) throw refuse(`${as} must have the SHA-256 ${sha256}, and has ${found}; it is not used`);
  }
}

interface VoiceFacts {
  name?: string;
  language?: string;
  gender?: string;
}

/** What the maker's list says of the voice with these weights; nothing if there is no list. */
async function readFacts(path: string, sha256: string): Promise<VoiceFacts> {
  try {
    const rows = Object.entries(JSON.parse(await readFile(path, 'utf8')) as Record<string, Record<string, unknown>>);
    const [name, row = {}] = rows.find(([, each]) => each.sha256 === sha256) ?? [];
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
    const [language, gender] = [text(row.language), text(row.gender)];
    return { ...(name && { name }), ...(language && { language }), ...(gender && { gender }) };
  } catch {
    return {};
  }
}

async function measureGain(folder: string, accent: Accent, signal: AbortSignal): Promise<number> {
  const runtime = findRuntime();
  if (!runtime) throw refuse(runtimeMissing);
  const host = openVoiceHost(runtime, 1, () => ({ folder, accent }));
  try {
    const parts: Int16Array[] = [];
    let sampleRateHz = 0;
    for (const text of auditionTexts) {
      for await (const piece of host.speak('', { text, speed: 1, seed: 0, gainDb: 0, timings: false }, signal)) {
        parts.push(piece.samples);
        ({ sampleRateHz } = piece);
      }
    }
    return Math.round(10 * gainDbFor({ samples: joinSamples(Int16Array, parts), sampleRateHz })) / 10;
  } finally {
    await host.close();
  }
}
