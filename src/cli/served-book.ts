// `sonant book --server URL`: a running service reads the book and speaks it as a job; the command downloads the files.
// If the command is interrupted, the job continues, and the same command finds it by `job.json` in the work folder.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { BookChapter } from '../books/book.ts';
import { bookUploadBytesMax } from '../books/book-limits.ts';
import { Failure } from '../errors.ts';
import { makeFolder } from '../runtime/files.ts';
import { createId } from '../runtime/id.ts';
import { type FileLock, tryLock } from '../runtime/locks.ts';
import { reasonOf } from '../runtime/system-errors.ts';
import { chooseFormat, pathBeside, writeWhole } from './audio-sink.ts';
import {
  type BookFlags,
  type BookVoices,
  checkFlags,
  chooseChapters,
  explainFault,
  type JobBook,
  toFields,
  workFolderOf,
} from './book-request.ts';
import { CommandError, UsageError, withFlagNames } from './command.ts';
import { createBookProgress } from './progress.ts';
import { isPassing, readEvents, readReply, type ServiceClient, Unreachable, withRetries } from './service-client.ts';

/** The members of a job that the command reads. */
interface JobJson {
  id: string;
  status: string;
  ended_at: string | null;
  metadata: Readonly<Record<string, string>>;
  progress: { chars: number; chars_done: number; chapters_done: number; seconds: number };
  chapters: readonly { title: string; start: number | null; end: number | null }[];
  audio_url: string | null;
  captions: Readonly<Record<string, string>>;
  error: { message: string; chapter: number | null; text: string | null } | null;
}

/** How long a refused request is retried, and how long a service may be unreachable. */
const patienceMs = { refused: 60_000, unreachable: 600_000 };

export interface Served {
  client: ServiceClient;
  signal: AbortSignal;
}

/** Sends the book to the service, which reads it. */
export async function readServedBook(
  path: string,
  bytes: Uint8Array<ArrayBuffer>,
  { readsCode, client, signal }: Served & { readsCode: boolean },
): Promise<JobBook> {
  const query = new URLSearchParams({ name: basename(path), ...(readsCode && { code: 'read' }) });
  const headers = { 'content-type': 'application/octet-stream' };
  const retries = { signal, patienceMs: patienceMs.refused, mayPass: isPassing };
  const ask = () => client.sendForJson<ReadBook>(`/api/books?${query}`, { body: bytes, headers });
  const nameOf = (field: string) => (field === 'book' ? path : field);
  const read = await withFlagNames(nameOf, () => withRetries(retries, ask));
  for (const warning of read.warnings) process.stderr.write(`sonant: ${warning}\n`);
  return { ...read, language: read.language ?? '', cover: read.cover ?? undefined };
}

interface ReadBook {
  language: string | null;
  cover: string | null;
  metadata: Readonly<Record<string, string>>;
  chapters: readonly BookChapter[];
  warnings: readonly string[];
}

/** Reads the book's file. Throws if the service would refuse the file for its size. */
export async function readBookFile(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const explain = (error: Error) => {
    throw new UsageError(`cannot read ${path}: ${reasonOf(error)}`);
  };
  const { size } = await stat(path).catch(explain);
  if (size > bookUploadBytesMax)
    throw new UsageError(`${path} is larger than ${bookUploadBytesMax >> 20} MiB, the limit of a service`);
  return new Uint8Array(await readFile(path).catch(explain));
}

export async function speakAtService(path: string, flags: BookFlags, served: Served) {
  const { output } = flags;
  const { client, signal } = served;
  const format = chooseFormat(flags.format, output);
  const bytes = await readBookFile(path);
  const folder = workFolderOf(output);
  const lock = openWork(folder, output);
  const speak = async () => {
    const fingerprint = fingerprintOf(bytes, { ...flags, output: '', format });
    const toBody = async () => {
      const book = await readServedBook(path, bytes, { ...served, readsCode: flags.code ?? false });
      const chosen = chooseChapters(book.chapters, { skip: flags.skip, numbers: flags.chapters });
      return toFields(book, chosen, { flags, format, voices: voicesAt(client) });
    };
    const { job, files } = await fetchMade({ folder, fingerprint, toBody }, output, served);
    const { title = '', author = '' } = job.metadata;
    const chapters = job.chapters.map(({ title, start, end }) => ({ title, start, end }));
    return { output, title, author, format, ...files, seconds: job.progress.seconds, chapters, job_id: job.id };
  };
  const made = await speak().finally(async () => {
    lock.release();
    // The folder is removed if no job was created.
    if (!servedJobIn(folder)) await rm(folder, { recursive: true });
    else if (signal.aborted)
      process.stderr.write(
        `sonant: interrupted; the job continues at ${client.url}; run the same command to download the result\n`,
      );
  });
  await rm(folder, { recursive: true });
  return made;
}

function openWork(folder: string, output: string): FileLock {
  if (existsSync(join(folder, 'work.db')))
    throw new UsageError(`${output} was started without --server: omit --server, or delete ${folder} to start again`);
  makeFolder(folder);
  const lock = tryLock(join(folder, 'lock'));
  if (!lock) throw new CommandError(`another command is already writing ${output}`);
  return lock;
}

interface Work {
  folder: string;
  fingerprint: string;
  /** Creates the body of a request for a new job. */
  toBody(): Promise<object>;
}

/** Downloads the files of the job. If the files of an earlier job have expired, starts a new job. */
async function fetchMade(work: Work, output: string, served: Served) {
  const { url } = served.client;
  const formerId = await findFormerJob(work, served.client);
  const job = await finishJob(formerId ?? (await beginJob(work, served)), served);
  try {
    return { job, files: await fetchFiles(job, output, served) };
  } catch (error) {
    const isGone = error instanceof Failure && (error.reason === 'audio_expired' || error.reason === 'not_found');
    if (formerId === undefined || !isGone) throw error;
  }
  process.stderr.write(`sonant: ${url} has deleted the audio of job ${job.id}; starting a new job\n`);
  const made = await finishJob(await beginJob(work, served), served);
  return { job: made, files: await fetchFiles(made, output, served) };
}

/** The id of the job that an earlier run of the same command started. */
async function findFormerJob({ folder, fingerprint }: Work, client: ServiceClient): Promise<string | undefined> {
  const { url } = client;
  const before = servedJobIn(folder);
  if (before?.url !== url || before.fingerprint !== fingerprint) {
    if (before) await abandon(before, client);
    return undefined;
  }
  const job = await findJob(client, before.id);
  if (job?.status === 'failed' || job?.status === 'canceled')
    await client.send(`${pathOf(before.id)}/retry`, { method: 'POST' });
  if (!job) process.stderr.write(`sonant: ${url} has no job ${before.id}; starting a new job\n`);
  return job?.id;
}

/** Creates a job and returns its id. */
async function beginJob({ folder, fingerprint, toBody }: Work, { client, signal }: Served): Promise<string> {
  const { url } = client;
  const body = await checkServedFlags(url, toBody);
  const job: ServedJob = { url, id: createId('book'), fingerprint };
  keepServedJob(folder, job);
  const retries = { signal, patienceMs: patienceMs.refused, mayPass: isPassing };
  try {
    await withRetries(retries, () => checkServedFlags(url, () => client.send(pathOf(job.id), { method: 'PUT', body })));
  } catch (error) {
    // If the service replied with an error, it created no job. Without a reply, a job may exist.
    if (error instanceof UsageError || error instanceof Failure) await rm(jobFileIn(folder));
    throw error;
  }
  return job.id;
}

const pathOf = (id: string) => `/api/audio/jobs/${encodeURIComponent(id)}`;

const findJob = (client: ServiceClient, id: string): Promise<JobJson | undefined> =>
  client.sendForJson<JobJson>(pathOf(id)).catch((error: unknown) => {
    if (error instanceof Failure && error.reason === 'not_found') return undefined;
    throw error;
  });

/** Deletes the job of another command for the same file, because nobody would download the result. */
async function abandon({ url, id }: ServedJob, client: ServiceClient): Promise<void> {
  if (url !== client.url) process.stderr.write(`sonant: job ${id} continues at ${url}\n`);
  else if (await findJob(client, id)) await client.send(pathOf(id), { method: 'DELETE' });
}

/** Like `checkFlags`, but reports that an unknown voice is missing from the service, not from this machine. */
const checkServedFlags = <Result>(url: string, check: () => Promise<Result>): Promise<Result> =>
  checkFlags(() =>
    check().catch((error: unknown) => {
      if (!(error instanceof Failure) || error.reason !== 'voice_not_found') throw error;
      const [question = ''] = / did you mean [^?]{1,200}\?/.exec(error.message) ?? [];
      throw new UsageError(`${url} has no such voice for this key;${question} GET ${url}/api/voices lists its voices`);
    }),
  );

interface ListedVoice {
  voice_id: string;
  status: string;
  language_codes: readonly string[];
}

function voicesAt(client: ServiceClient): BookVoices {
  const toVoice = ({ voice_id, language_codes }: ListedVoice) => ({
    voiceId: voice_id,
    languageCodes: language_codes,
  });
  return {
    async list() {
      const { voices } = await client.sendForJson<{ voices: ListedVoice[] }>('/api/voices?limit=1000');
      return voices.filter(({ status }) => status === 'ready').map(toVoice);
    },
    find: async (voiceId) => toVoice(await client.sendForJson(`/api/voices/${encodeURIComponent(voiceId)}`)),
  };
}

/** Waits until the job has finished, despite lost connections and restarts of the service. */
async function finishJob(id: string, { client, signal }: Served): Promise<JobJson> {
  const progress = createBookProgress();
  const mayPass = (error: unknown) => error instanceof Unreachable || isPassing(error);
  let lastId = '';
  try {
    const onWait = (error: Error) => {
      progress.clear();
      process.stderr.write(`sonant: ${error.message}; trying again\n`);
    };
    const retries = { signal, patienceMs: patienceMs.unreachable, mayPass, onWait };
    const last = await withRetries(retries, async (noteProgress) => {
      const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
      const reply = await client.send(`${pathOf(id)}/events`, { headers });
      if (reply.status === 204) return client.sendForJson<JobJson>(pathOf(id));
      for await (const event of readEvents(readReply(reply, client, signal))) {
        noteProgress();
        lastId = event.id;
        const { job }: { job?: JobJson } = JSON.parse(event.data);
        // The last event carries an error instead of the job. The response to the next request states the reason.
        if (!job) break;
        const { chars, chars_done: charsDone, chapters_done: chaptersDone } = job.progress;
        progress.show({ chars, charsDone, chaptersDone, chapterCount: job.chapters.length });
        if (job.ended_at !== null) return job;
      }
      throw new Unreachable(`${client.url} closed the event stream of the job`);
    });
    if (last.status === 'succeeded') return last;
    const { error, chapters } = last;
    const title = error?.chapter == null ? undefined : chapters[error.chapter]?.title;
    throw new CommandError(
      explainFault(error ? { message: error.message, title, text: error.text ?? undefined } : undefined),
    );
  } finally {
    progress.clear();
  }
}

async function fetchFiles(
  job: JobJson,
  output: string,
  served: Served,
): Promise<{ bytes: number; captions: string[] }> {
  const bytes = await writeWhole(output, download(job.audio_url!, served), served.signal);
  if (job.audio_url!.endsWith('.opus')) {
    const manifest = download(job.audio_url!.replace(/opus$/, 'c2pa'), served);
    await writeWhole(pathBeside(output, 'c2pa'), manifest, served.signal).catch((error: unknown) => {
      // Ignores a missing manifest, because not every service creates manifests.
      if (!(error instanceof Failure && error.reason === 'not_found')) throw error;
    });
  }
  const captions: string[] = [];
  for (const [kind, link] of Object.entries(job.captions)) {
    const path = pathBeside(output, kind);
    await writeWhole(path, download(link, served), served.signal);
    captions.push(path);
  }
  return { bytes, captions };
}

/** Downloads the bytes of a link. If a connection breaks, the download resumes at the same position. */
async function* download(link: string, { client, signal }: Served): AsyncGenerator<Uint8Array> {
  const mayPass = (error: unknown) => error instanceof Unreachable || isPassing(error);
  const retries = { signal, patienceMs: patienceMs.unreachable, mayPass };
  let byteCount = 0;
  let pieces: AsyncGenerator<Uint8Array> | undefined;
  const next = async (noteProgress: () => void) => {
    if (!pieces) {
      const reply = await client.open(link, byteCount);
      if (byteCount > 0 && reply.status !== 206)
        throw new CommandError(`the download of ${link} cannot be resumed; run the command again`);
      pieces = readReply(reply, client, signal);
    }
    const piece = await pieces.next().catch((error: unknown) => {
      pieces = undefined;
      throw error;
    });
    noteProgress();
    return piece;
  };
  for (;;) {
    const { done, value } = await withRetries(retries, next);
    if (done) return;
    byteCount += value.length;
    yield value;
  }
}

/** The job that creates the output file. It is stored in the work folder beside the file. */
interface ServedJob {
  /** URL of the service. */
  url: string;
  id: string;
  fingerprint: string;
}

const jobFileIn = (folder: string) => join(folder, 'job.json');

export function servedJobIn(folder: string): ServedJob | undefined {
  const file = jobFileIn(folder);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function keepServedJob(folder: string, job: ServedJob): void {
  const file = jobFileIn(folder);
  writeFileSync(`${file}.new`, JSON.stringify(job));
  renameSync(`${file}.new`, file);
}

/** Hash of the book and the flags. The order of the flags makes no difference. */
function fingerprintOf(book: Uint8Array, flags: object): string {
  const sorted = Object.entries(flags).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(book).update(JSON.stringify(sorted)).digest('hex');
}
