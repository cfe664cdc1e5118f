// Installs a model: downloads its files or reads them from disk, checks them, and has its engine import it. Only one
// process works on a name at a time. If the process is killed, downloaded data is kept, and the model is installed
// completely or not at all.
import { existsSync, statfsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { archiveEnding } from '../../platform/archives/archive-file.ts';
import { Failure } from '../../platform/errors.ts';
import { hashFile, makeFolder } from '../../platform/runtime/files.ts';
import { isLocked, takeLock } from '../../platform/runtime/locks.ts';
import { download, type Patience, patienceDefault, type Retry, TransferRate } from './download.ts';
import { get } from './http-get.ts';
import type { Build, ModelEngine, ModelRow, OfferedModel, RemoteFile } from './model-table.ts';
import { fetchPackage } from './package-fetch.ts';
import { explainByHand, fileNameOf, packageOf } from './package-url.ts';

export interface Progress {
  /** The current step: the name of the file being downloaded, or "unpacking". */
  what: string;
  /** Bytes downloaded, or share of the archive unpacked, so far. `total` is undefined if it is unknown. */
  done: number;
  total: number | undefined;
  unit: 'bytes' | 'share';
}

/** The stage of an installation, such as waiting for another process or installing the library. */
export type GetStage = 'waiting' | 'preparing' | 'downloading' | 'unpacking' | 'checking';

export interface GetOptions {
  dataDir: string;
  /** URL of a mirror; empty to use the original source. */
  modelsUrl: string;
  /** Name in the data folder. Default: the row's name. */
  name?: string;
  /** Local files that are used instead of downloads with the same name. */
  files?: readonly string[];
  /** Whether downloads are forbidden. */
  isOffline?: boolean;
  signal: AbortSignal;
  print(line: string): void;
  onStage?(stage: GetStage): void;
  onProgress?(progress: Progress): void;
  onRetry?(retry: Retry): void;
  /** Called before the library of an engine is installed that the import has turned out to need. May throw. */
  beforePrepare?(engine: ModelEngine): Promise<void>;
  /** Bytes to leave free on a file system of this size. Default: none. */
  leaveFree?(disk: { sizeBytes: number }): number;
  patience?: Patience | undefined;
}

const nameForm = /^[A-Za-z0-9][\w.-]{0,79}$/;

interface GotModel {
  name: string;
  /** Ids of the new voices; undefined if the model was already installed. */
  voiceIds: readonly string[] | undefined;
}

/** The name that a model has at its source. */
export const publishedName = (url: string): string => basename(new URL(url).pathname).replace(archiveEnding, '');
/** The row of a model that is known only by its URL. */
export const rowOfUrl = (url: string): ModelRow => ({ name: publishedName(url), title: url, url, ...unknown });
/** The row of an installed model that is in no table. */
export const rowOfInstalled = (name: string): ModelRow => ({ name, title: name, url: '', ...unknown });

const unknown: Omit<ModelRow, 'name' | 'title' | 'url'> = {
  kind: null,
  builds: [],
  languages: null,
  voices: null,
  bestVoice: null,
  licence: null,
  licenceSource: null,
  commercial: null,
  cost: null,
  notes: null,
  recommended: false,
  files: {},
  parts: [],
};

export async function getModel(offered: OfferedModel, options: GetOptions): Promise<GotModel> {
  const { row, engine, others = [] } = offered;
  const { dataDir, isOffline = false, signal, print, name = row.name, onStage = () => {} } = options;
  const folder = engine.models.folder(dataDir);
  if (!nameForm.test(name)) {
    const message = `${JSON.stringify(name)} is not a valid name of a model: use letters, digits, ".", "_" and "-"; choose another name with --name`;
    throw new Failure('invalid_request', { message });
  }
  const onWait = () => onStage('waiting');
  return withModelLock(folder, name, { signal, print, onWait }, async () => {
    onStage('preparing');
    await engine.models.prepare({ dataDir, isOffline, signal, print });
    if (installedBy(offered, dataDir, name)) return { name, voiceIds: undefined };
    if (existsSync(join(folder, name))) {
      const message = `${name} was installed by an earlier version of Sonant, and is not spoken any more; remove it first: sonant voice remove ${name}`;
      throw new Failure('invalid_request', { message });
    }
    onStage('downloading');
    const downloads = downloadsOf(folder, name);
    makeFolder(downloads);
    const fetched = await fetchedBytes(engine, name, dataDir);
    checkDiskSpace(downloads, Math.max(0, bytesNeeded(row) - fetched), options);
    const byHand = explainByHand(row);
    const path = await obtain(row, downloads, options, byHand);
    const parts: { path: string; as: string }[] = [];
    for (const part of row.parts) parts.push({ path: await obtain(part, downloads, options, byHand), as: part.as });
    const { url, licence, licenceSource, commercial, files } = row;
    const source = { url, licence, licence_source: licenceSource, commercial, sha256: await hashFile(path) };
    onStage('unpacking');
    const onUnpacked = (share: number) =>
      options.onProgress?.({ what: 'unpacking', done: share, total: 1, unit: 'share' });
    // The first message of an import shows that the model is unpacked and is now being tested.
    const printChecking = (line: string) => {
      onStage('checking');
      print(line);
    };
    const brought = { path, dataDir, name, parts, files, source, onUnpacked, signal, print: printChecking };
    let voiceIds = await engine.importVoice!(brought);
    for (const other of others) {
      if (voiceIds) break;
      await options.beforePrepare?.(other);
      await other.models.prepare({ dataDir, isOffline, signal, print });
      voiceIds = await other.importVoice!(brought);
    }
    if (!voiceIds)
      throw new Failure('invalid_request', { message: `${url} is not an archive (tar, gzip, bzip2 or zip)` });
    await rm(downloads, { recursive: true, force: true });
    return { name, voiceIds };
  });
}

/** The engine that has the model installed; undefined if there is none. */
export const installedBy = (
  { row, engine, others = [] }: OfferedModel,
  dataDir: string,
  name = row.name,
): ModelEngine | undefined =>
  [engine, ...others].find(({ models: { folder, packagedFolder, isOwn = () => true } }) =>
    [folder(dataDir), packagedFolder].some((each) => {
      const path = each && join(each, name);
      return path !== undefined && existsSync(path) && isOwn(path);
    }),
  );

export interface Waiting {
  signal: AbortSignal;
  print(line: string): void;
  onWait?(): void;
}

const lockPath = (folder: string, name: string): string => join(folder, '.locks', name);
const downloadsOf = (folder: string, name: string): string => join(folder, '.downloads', name);

async function withModelLock<T>(
  folder: string,
  name: string,
  { signal, print, onWait }: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  const path = lockPath(folder, name);
  makeFolder(dirname(path));
  const wait = () => {
    onWait?.();
    print(`another process is busy with ${name}; waiting for it`);
  };
  const lock = await takeLock(path, signal, wait);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** Space needed, as a multiple of the download: for the archive, its content and a reserve. */
const roomFactor = 2.5;

const bytesNeeded = ({ builds, parts }: ModelRow): number =>
  roomFactor * [{ builds }, ...parts].reduce((sum, file) => sum + (file.builds[0]?.bytes ?? 0), 0);

function checkDiskSpace(folder: string, bytes: number, { leaveFree = () => 0 }: Pick<GetOptions, 'leaveFree'>): void {
  const { bavail, blocks, bsize } = statfsSync(folder);
  const leftBytes = bavail * bsize - leaveFree({ sizeBytes: blocks * bsize });
  if (leftBytes >= bytes) return;
  const [needed, left] = [bytes, Math.max(0, leftBytes)].map((count) => Math.ceil(count / 1e6));
  throw new Failure('storage_full', { message: `the model needs ${needed} MB on the disk, and ${left} MB are free` });
}

/** The path of the downloaded and checked file. A file that an earlier process downloaded is reused. */
async function obtain(file: RemoteFile, downloads: string, options: GetOptions, byHand: string): Promise<string> {
  const { modelsUrl, files = [], isOffline = false, signal, print, onProgress, patience = patienceDefault } = options;
  const isPackage = packageOf(file.url) !== undefined;
  const name = fileNameOf(file.url);
  const to = join(downloads, name);
  const own = files.find((path) => basename(path) === name);
  if (own !== undefined) {
    await checkOwn(own, file);
    return own;
  }
  if (isOffline) throw new Failure('invalid_request', { message: `${name} is needed. ${byHand}` });
  const url = modelsUrl === '' ? file.url : mirrored(file.url, modelsUrl);
  const stated = file.builds.length > 0 ? [] : await findStatedBuild(url, signal, patience);
  const builds = stated.length > 0 ? stated : file.builds;
  if (existsSync(to)) {
    const sha256 = await hashFile(to);
    if (builds.length === 0 || builds.some((build) => build.sha256 === sha256)) {
      const { size } = await stat(to);
      onProgress?.({ what: name, done: size, total: size, unit: 'bytes' });
      return to;
    }
    await rm(to);
  }
  if (builds.length === 0) print(`${name} has no known SHA-256, so only damage to the archive can be detected`);
  if (stated.length > 0) print(`${name} is checked against the checksum.txt of its source`);
  const tell = (done: number, total: number | undefined) => {
    // Other programs write to the disk too, and the size of a file may be known only from its source.
    checkDiskSpace(downloads, (total ?? done) - done, options);
    onProgress?.({ what: name, done, total, unit: 'bytes' });
  };
  const fromServer = () => download({ url, to, builds, signal, onProgress: tell, onRetry: options.onRetry, patience });
  if (!isPackage) await fromServer();
  else {
    const check = (path: string) => checkOwn(path, file);
    const { clientMsMax: msMax } = patience;
    const fromPackage = () =>
      fetchPackage({ url: file.url, to, builds, signal, print, onProgress: tell, msMax, check });
    await firstOf(modelsUrl === '' ? [fromPackage] : [fromServer, fromPackage], signal, byHand);
  }
  return to;
}

/** Tries the sources in order. If all fail, the message has all reasons. */
async function firstOf(sources: readonly (() => Promise<unknown>)[], signal: AbortSignal, byHand: string) {
  const faults: Failure[] = [];
  for (const source of sources) {
    try {
      return await source();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Failure) || error.reason === 'storage_full') throw error;
      faults.push(error);
    }
  }
  const message = `${faults.map((fault) => fault.message.replace(/\.$/, '')).join('; ')}. ${byHand}`;
  throw new Failure('engine_unavailable', { message }, faults.at(-1)!.cause);
}

/** The URL at the mirror, with the last two components of the original path (release and file). */
const mirrored = (url: string, modelsUrl: string): string => {
  const place = packageOf(url) ? ['packages', fileNameOf(url)] : new URL(url).pathname.split('/').slice(-2);
  return `${modelsUrl}/${place.join('/')}`;
};

async function checkOwn(path: string, { builds }: RemoteFile): Promise<void> {
  if (builds.length === 0) return;
  const { size } = await stat(path);
  const sha256 = await hashFile(path);
  if (builds.some((build) => build.sha256 === sha256)) return;
  const known = builds.map((build) => `${build.bytes ?? 'unknown'} bytes and ${build.sha256}`).join(', or ');
  const message = `${path} has ${size} bytes and the SHA-256 ${sha256}; it must have ${known}`;
  throw new Failure('invalid_request', { message });
}

/** Names of the installed models. */
export async function listInstalled(engine: ModelEngine, dataDir: string): Promise<string[]> {
  const folder = engine.models.folder(dataDir);
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.flatMap((entry) => (entry.isFile() || entry.name.startsWith('.') ? [] : entry.name)).sort();
  return names.filter((name) => engine.models.isOwn?.(join(folder, name)) ?? true);
}

/** Whether this or another process is installing or removing the model. */
export const isBusy = (engine: ModelEngine, name: string, dataDir: string): boolean =>
  isLocked(lockPath(engine.models.folder(dataDir), name));

/** Number of downloaded bytes of a model that has not been installed yet. */
export async function fetchedBytes(engine: ModelEngine, name: string, dataDir: string): Promise<number> {
  const folder = downloadsOf(engine.models.folder(dataDir), name);
  if (!existsSync(folder)) return 0;
  let bytes = 0;
  for (const entry of await readdir(folder)) {
    // A file may be renamed or deleted in the meantime.
    const found = entry.endsWith('.json') ? undefined : await stat(join(folder, entry)).catch(() => undefined);
    bytes += found?.size ?? 0;
  }
  return bytes;
}

const binName = '.removed-';

/** Removes a model and its downloads. Returns false if there was neither. */
export async function removeModel(
  engine: ModelEngine,
  name: string,
  dataDir: string,
  waiting: Waiting,
): Promise<boolean> {
  const folder = engine.models.folder(dataDir);
  const downloads = downloadsOf(folder, name);
  if (!nameForm.test(name) || !(existsSync(join(folder, name)) || existsSync(downloads))) return false;
  return withModelLock(folder, name, waiting, async () => {
    // The folder is moved away first, so that a model that lacks some files is never visible.
    const bin = await mkdtemp(join(folder, binName));
    if (existsSync(join(folder, name))) await rename(join(folder, name), join(bin, name));
    await rm(downloads, { recursive: true, force: true });
    // Folders left by earlier removals that were killed are deleted too.
    const bins = (await readdir(folder)).filter((entry) => entry.startsWith(binName));
    for (const each of bins) await rm(join(folder, each), { recursive: true, force: true });
    return true;
  });
}

const listBytesMax = 2 * 2 ** 20;

/** The build in the source's list of checksums; empty if the list is unavailable or lacks the file. */
async function findStatedBuild(url: string, signal: AbortSignal, patience: Patience): Promise<Build[]> {
  const file = new URL(url).pathname.split('/').at(-1)!;
  // A missing list is ignored here. If the source lacks the file too, the download of the file reports the reason.
  const text = await readList(new URL('checksum.txt', url).href, signal, patience).catch(() => '');
  signal.throwIfAborted();
  for (const line of text.split('\n')) {
    const words = line.split(/[\s,;:|*]+/);
    const sha256 = words.find((word) => /^[0-9a-f]{64}$/i.test(word))?.toLowerCase();
    if (sha256 && words.includes(file)) return [{ bytes: null, sha256 }];
  }
  return [];
}

async function readList(url: string, signal: AbortSignal, patience: Patience): Promise<string> {
  const answer = await get(url, { signal, stallMs: patience.stallMs });
  const chunks: Buffer[] = [];
  const rate = new TransferRate(url, patience);
  let bytes = 0;
  rate.run();
  try {
    if (answer.status !== 200) return '';
    for await (const chunk of answer.body) {
      bytes += chunk.length;
      rate.add(chunk.length);
      if (bytes > listBytesMax) break;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    answer.close();
  }
}
