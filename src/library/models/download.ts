// Downloads a file, and resumes a download that was interrupted in this run or an earlier one. FILE.part contains the
// bytes so far and FILE.part.json their version, so that parts of two versions are never joined. The file is renamed
// into place when its size and SHA-256 match; otherwise it is deleted and both values are reported.
import { existsSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../platform/errors.ts';
import { retryAfterMs } from '../../platform/net/upstream-answer.ts';
import { hashFile } from '../../platform/runtime/files.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import { type Answer, get, unreachable } from './http-get.ts';
import type { Build } from './model-table.ts';

/** Minimum amount of data in each time window. */
interface LeastRate {
  windowMs: number;
  windowBytesMin: number;
}

export class TransferRate {
  readonly #url: string;
  readonly #least: LeastRate;
  readonly #now: () => number;
  #runningSinceMs: number | undefined;
  #windowMs = 0;
  #windowBytes = 0;

  constructor(url: string, least: LeastRate, now: () => number = () => performance.now()) {
    this.#url = url;
    this.#least = least;
    this.#now = now;
  }

  run(): void {
    this.#runningSinceMs ??= this.#now();
  }

  rest(): void {
    this.#count();
    this.#runningSinceMs = undefined;
  }

  /** Counts bytes that have arrived. Throws at the end of a time window in which too few arrived. */
  add(bytes: number): void {
    this.#windowBytes += bytes;
    this.#count();
    const { windowMs, windowBytesMin } = this.#least;
    if (this.#windowMs < windowMs) return;
    if (this.#windowBytes < windowBytesMin) throw this.#tooSlow();
    this.#windowMs = 0;
    this.#windowBytes = 0;
  }

  #count(): void {
    if (this.#runningSinceMs === undefined) return;
    const nowMs = this.#now();
    this.#windowMs += nowMs - this.#runningSinceMs;
    this.#runningSinceMs = nowMs;
  }

  #tooSlow(): Error {
    const seconds = (ms: number) => Math.round(ms / 100) / 10;
    const { windowMs, windowBytesMin } = this.#least;
    const sent = `${this.#windowBytes} bytes in ${seconds(this.#windowMs)} s`;
    return unreachable(
      `${this.#url} is too slow: ${sent}; at least ${windowBytesMin} bytes in ${seconds(windowMs)} s are expected. The partial download is stored, and another attempt resumes it`,
    );
  }
}

/** How often and how long a failing source is retried, and how slowly it may send. */
export interface Patience extends LeastRate {
  stallMs: number;
  /** The first pause; each further pause is twice as long. */
  pauseMs: number;
  pauseMsMax: number;
  /** The longest pause that a source may request. */
  retryAfterMsMax: number;
  /** Largest number of attempts in a row that receive no byte. */
  attemptsMax: number;
  /** The longest time that a package client may take. Default: 15 minutes. */
  clientMsMax?: number;
}

export const patienceDefault: Patience = {
  stallMs: 30_000,
  pauseMs: 500,
  pauseMsMax: 30_000,
  retryAfterMsMax: 300_000,
  attemptsMax: 7,
  // At 1 kB/s, the largest model in the table would take days.
  windowMs: 60_000,
  windowBytesMin: 60_000,
};

export interface Download {
  url: string;
  to: string;
  /** The file must match one of these builds. Any file is accepted if the list is empty. */
  builds: readonly Build[];
  signal: AbortSignal;
  onProgress?(bytes: number, bytesTotal: number | undefined): void;
  onRetry?: ((retry: Retry) => void) | undefined;
  patience: Patience;
}

/** A retry of a source after a pause. */
export interface Retry {
  host: string;
  /** The reason for the retry. */
  why: string;
  pauseMs: number;
  /** Number of the next attempt since a byte last arrived. */
  attempt: number;
  attemptsMax: number;
}

const fileBytesMax = 8 * 2 ** 30;
const retriedStatus = [408, 425, 429, 500, 502, 503, 504];

/** The version of the partial file. */
interface Version {
  url: string;
  /** Value for If-Range: a strong ETag or a date. */
  validator: string | null;
  bytesTotal: number | null;
}

/** Downloads the file, and returns its SHA-256. */
export async function download(wanted: Download): Promise<string> {
  const { url, to, builds } = wanted;
  for (let isSecondTime = false; ; isSecondTime = true) {
    const isResumed = await fetchWhole(wanted).catch((error) => discardEmpty(to).then(() => Promise.reject(error)));
    const { size } = await stat(`${to}.part`);
    const sha256 = await hashFile(`${to}.part`);
    const isRight = builds.some((build) => build.sha256 === sha256 && (build.bytes ?? size) === size);
    if (isRight || builds.length === 0) {
      await rename(`${to}.part`, to);
      await rm(`${to}.part.json`, { force: true });
      return sha256;
    }
    await discard(to);
    // If the source states no versions, parts of two versions may have been joined, so the download is repeated once.
    if (!isResumed || isSecondTime) throw differs(url, `has ${size} bytes and the SHA-256 ${sha256}`, builds);
  }
}

const discard = async (to: string): Promise<void> => {
  await rm(`${to}.part`, { force: true });
  await rm(`${to}.part.json`, { force: true });
};

async function discardEmpty(to: string): Promise<void> {
  if (existsSync(`${to}.part`) && (await stat(`${to}.part`)).size === 0) await discard(to);
}

const toldBytes = ({ bytes }: Build) => (bytes === null ? '' : `${bytes} bytes and `);
const differs = (url: string, found: string, builds: readonly Build[]): Failure => {
  const known = builds.map((build) => `${toldBytes(build)}the SHA-256 ${build.sha256}`).join(', or ');
  const message = `${url} ${found}; it must have ${known}. The file was changed in transit or at its source, and is not used`;
  return new Failure('invalid_request', { message });
};

/** Downloads until the file is complete. Returns whether it was resumed. */
async function fetchWhole(wanted: Download): Promise<boolean> {
  const { url, to, signal, onRetry, patience } = wanted;
  const rate = new TransferRate(url, patience);
  let fruitless = 0;
  const beganAtMs = performance.now();
  await using part = await openPart(to);
  const isBegun = part.length > 0;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    const before = part.length;
    let pauseMs: number | undefined;
    let cause: unknown;
    try {
      rate.rest();
      const fetched = await fetchMore(wanted, part, rate);
      if (fetched === 'whole') return isBegun || attempt > 0;
      ({ pauseMs, cause } = fetched);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw full(to, error);
      if (isUntrusted(error)) throw notFetched(url, error);
      cause = error;
    }
    fruitless = part.length > before ? 0 : fruitless + 1;
    // If a few bytes arrived, the time window is not paused, so that a source that keeps disconnecting counts as slow.
    if (fruitless > 0 || pauseMs !== undefined) rate.rest();
    const attemptsMax = part.isAnswered ? patience.attemptsMax : Math.min(patience.attemptsMax, silentAttemptsMax);
    const isOffline = !part.isAnswered && performance.now() - beganAtMs > silentMsMax;
    if (fruitless >= attemptsMax || isOffline) throw notFetched(url, cause, !part.isAnswered);
    const doubled = Math.min(patience.pauseMsMax, patience.pauseMs * 2 ** Math.max(0, fruitless - 1));
    const pause = { pauseMs: pauseMs ?? doubled, attempt: fruitless + 1, attemptsMax };
    onRetry?.({ host: new URL(url).host, why: explain(cause), ...pause });
    await sleep(pause.pauseMs, undefined, { signal });
    rate.add(0);
  }
}

/** Limits for a source that has not answered at all, because this machine is then probably offline. */
const silentAttemptsMax = 2;
const silentMsMax = 2_000;

function notFetched(url: string, cause: unknown, isOffline = false): Failure {
  const byHand = 'If this machine is offline, download the file on another one and use sonant voice get NAME FILE. ';
  const message = `${url} cannot be fetched: ${explain(cause)}. ${isOffline ? byHand : ''}SONANT_MODELS_URL may name a mirror.`;
  // If the source was never reached, the message already states the whole cause.
  return unreachable(message, isOffline ? undefined : cause);
}

/** Whether the source's certificate was rejected, in which case another attempt would fail too. */
const isUntrusted = (error: unknown): boolean =>
  /CERT|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH/.test((error as NodeJS.ErrnoException).code ?? '');

const full = (to: string, cause: unknown) =>
  new Failure('storage_full', { message: `the disk has no space for ${basename(to)}` }, cause);
/** The error of a connection that tried several addresses may have no message of its own. */
const explain = (error: unknown): string => reasonOf(error) || 'no answer';

class Part implements AsyncDisposable {
  readonly to: string;
  version: Version | undefined;
  length: number;
  /** Whether the source has answered in this run. */
  isAnswered = false;
  #file: FileHandle;

  constructor(to: string, file: FileHandle, length: number, version: Version | undefined) {
    this.to = to;
    this.#file = file;
    this.length = length;
    this.version = version;
  }

  async begin(version: Version): Promise<void> {
    await this.#file.truncate(0);
    this.length = 0;
    this.version = version;
    await writeFile(`${this.to}.part.json`, JSON.stringify(version));
  }

  async append(chunk: Uint8Array): Promise<void> {
    const { bytesWritten } = await this.#file.write(chunk, 0, chunk.length, this.length);
    this.length += bytesWritten;
    if (bytesWritten < chunk.length) await this.append(chunk.subarray(bytesWritten));
  }

  [Symbol.asyncDispose] = () => this.#file.close();
}

async function openPart(to: string): Promise<Part> {
  const version = parseVersion(await readFile(`${to}.part.json`, 'utf8').catch(emptyIfAbsent));
  const kept = version && (await open(`${to}.part`, 'r+').catch(emptyIfAbsent));
  if (!kept) return new Part(to, await open(`${to}.part`, 'w+'), 0, undefined);
  return new Part(to, kept, (await kept.stat()).size, version);
}

function emptyIfAbsent(error: NodeJS.ErrnoException): '' {
  if (error.code === 'ENOENT') return '';
  throw error;
}

/** Parses the version; undefined if the text is incomplete because the process was killed while writing it. */
function parseVersion(text: string): Version | undefined {
  try {
    return JSON.parse(text) as Version;
  } catch {
    return undefined;
  }
}

type Fetched = 'whole' | { pauseMs?: number; cause: unknown };

async function fetchMore(
  { url, builds, signal, onProgress, patience }: Download,
  part: Part,
  rate: TransferRate,
): Promise<Fetched> {
  const known = part.version;
  // If there is no validator, only the SHA-256 shows whether the rest has the same version.
  const canResume = known?.url === url && part.length > 0 && (known.validator !== null || builds.length > 0);
  if (canResume && known.bytesTotal === part.length) return 'whole';
  const range = canResume ? { Range: `bytes=${part.length}-` } : {};
  const ifRange = canResume && known.validator !== null ? { 'If-Range': known.validator } : {};
  const headers: Record<string, string> = { ...range, ...ifRange };
  const answer = await get(url, { headers, signal, stallMs: patience.stallMs });
  part.isAnswered = true;
  try {
    const { status } = answer;
    if (retriedStatus.includes(status))
      return { ...pauseOf(answer, url, patience), cause: new Error(`it returned status ${status}`) };
    const bytesTotal = canResume && status === 206 ? resumedTotal(answer, part) : undefined;
    if (status === 416 || (status === 206 && bytesTotal === undefined)) {
      await part.begin({ url, validator: null, bytesTotal: null });
      return { cause: new Error('it did not resume the download at the requested position') };
    }
    if (status !== 200 && status !== 206) throw refused(url, status);
    if (status === 200) await part.begin({ url, validator: validatorOf(answer), bytesTotal: contentLength(answer) });
    checkTotal(url, part.version!.bytesTotal, builds);
    rate.run();
    return await receive(answer, part, { url, builds, onProgress, rate });
  } finally {
    answer.close();
  }
}

interface Receiving extends Pick<Download, 'url' | 'builds'> {
  onProgress: Download['onProgress'];
  rate: TransferRate;
}

async function receive(answer: Answer, part: Part, { url, builds, onProgress, rate }: Receiving): Promise<Fetched> {
  const total = part.version!.bytesTotal;
  const bytesMax =
    total ?? Math.max(...builds.map(({ bytes }) => bytes ?? fileBytesMax), builds.length > 0 ? 0 : fileBytesMax);
  for await (const chunk of answer.body) {
    if (part.length + chunk.length > bytesMax) {
      throw new Failure('invalid_request', { message: `${url} sent more than ${bytesMax} bytes, and is not used` });
    }
    await part.append(chunk);
    rate.add(chunk.length);
    onProgress?.(part.length, total ?? undefined);
  }
  if (total === null || part.length === total) return 'whole';
  return { cause: new Error(`the connection ended after ${part.length} of ${total} bytes`) };
}

function checkTotal(url: string, total: number | null, builds: readonly Build[]): void {
  const isPossible = total === null || builds.length === 0 || builds.some(({ bytes }) => (bytes ?? total) === total);
  if (!isPossible) throw differs(url, `has ${total} bytes`, builds);
  if (total !== null && total > fileBytesMax)
    throw new Failure('invalid_request', { message: `${url} has ${total} bytes, which is too large for a model` });
}

const refused = (url: string, status: number): Failure =>
  new Failure('invalid_request', {
    message:
      status === 404 || status === 410
        ? `${url} does not exist (${status}); set SONANT_MODELS_URL to a mirror, or import the file if you have it`
        : `${url} returned status ${status}`,
  });

const contentLength = ({ headers }: Answer): number | null => {
  const given = headers['content-length'];
  return given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : null;
};

function validatorOf({ headers }: Answer): string | null {
  const { etag } = headers;
  if (etag?.startsWith('"')) return etag;
  return headers['last-modified'] ?? null;
}

/** The total size; undefined unless the response continues the part and states the same total as before. */
function resumedTotal({ headers }: Answer, { length, version }: Part): number | undefined {
  const [, from, total] = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(headers['content-range'] ?? '') ?? [];
  if (Number(from) !== length || total === undefined) return undefined;
  return version!.bytesTotal === null || version!.bytesTotal === Number(total) ? Number(total) : undefined;
}

/** The pause that Retry-After requests, in seconds or as a date. Throws if the pause is too long. */
function pauseOf({ headers }: Answer, url: string, { retryAfterMsMax }: Patience): { pauseMs?: number } {
  const ms = retryAfterMs(headers['retry-after']);
  if (ms === undefined) return {};
  if (ms > retryAfterMsMax)
    throw unreachable(`${url} asks for a retry in ${Math.ceil(ms / 1000)} s; the partial download is stored`);
  return { pauseMs: ms };
}
