// `sonant book --server URL`: a running service reads the book and speaks it as a job, and the command fetches what was made.
// The job goes on when the command is interrupted; given again, it finds the job, which is named in the work folder.
import { existsSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { BookChapter } from '../books/book.ts';
import { bookUploadBytesMax } from '../books/book-limits.ts';
import { Failure } from '../errors.ts';
import type { toJobJson } from '../jobs/job-json.ts';
import { type FileLock, tryLock } from '../runtime/file-lock.ts';
import { makeFolder } from '../runtime/folder.ts';
import { createId } from '../runtime/id.ts';
import { chooseChapters } from './book-chapters.ts';
import { type BookFlags, type BookVoices, checkFlags, type JobBook, toFields } from './book-fields.ts';
import { captionPathOf, workFolderOf, writeWhole } from './book-output.ts';
import { createBookProgress, explainFault } from './book-progress.ts';
import { chooseFormat } from './chosen-format.ts';
import { CommandError, UsageError, withFlagNames } from './command.ts';
import { fingerprintOf, keepServedJob, type ServedJob, servedJobIn } from './served-job.ts';
import { isPassing, readReply, type ServiceClient, Unreachable, withPatience } from './service-client.ts';
import { readEvents } from './service-events.ts';

type JobJson = ReturnType<typeof toJobJson>;

/** Until a service that refuses for now takes the book, and until one that is away is back. */
const patienceMs = { taking: 60_000, away: 600_000 };

export interface ServedFlags extends BookFlags {
  output: string;
  format?: string | undefined;
  skip?: string | undefined;
  chapters?: string | undefined;
  code?: boolean | undefined;
}

export interface Served {
  client: ServiceClient;
  signal: AbortSignal;
}

/** The book as the service reads it. */
export async function readServedBook(
  path: string,
  bytes: Uint8Array<ArrayBuffer>,
  { readsCode, client, signal }: Served & { readsCode: boolean },
): Promise<JobBook> {
  const query = new URLSearchParams({ name: basename(path), ...(readsCode && { code: 'read' }) });
  const headers = { 'content-type': 'application/octet-stream' };
  const patience = { signal, patienceMs: patienceMs.taking, mayPass: isPassing };
  const ask = () => client.sendForJson<ReadBook>(`/api/books?${query}`, { body: bytes, headers });
  const nameOf = (field: string) => (field === 'book' ? path : field);
  const read = await withFlagNames(nameOf, () => withPatience(patience, ask));
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

/** A book that a service may be sent. */
export async function readBookFile(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const explain = (error: Error) => {
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  };
  const { size } = await stat(path).catch(explain);
  if (size > bookUploadBytesMax)
    throw new UsageError(`${path} is larger than the ${bookUploadBytesMax >> 20} MiB that a service takes`);
  return new Uint8Array(await readFile(path).catch(explain));
}

export async function speakAtService(path: string, flags: ServedFlags, served: Served) {
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
    // What was refused before it began leaves nothing behind.
    if (!servedJobIn(folder)) await rm(folder, { recursive: true });
    else if (signal.aborted)
      process.stderr.write(`sonant: interrupted; ${client.url} goes on, and the same command fetches what it makes\n`);
  });
  await rm(folder, { recursive: true });
  return made;
}

function openWork(folder: string, output: string): FileLock {
  if (existsSync(join(folder, 'work.db')))
    throw new UsageError(`${output} was begun without --server: leave it out, or delete ${folder} to begin anew`);
  makeFolder(folder);
  const lock = tryLock(join(folder, 'lock'));
  if (!lock) throw new CommandError(`another command is making ${output}`);
  return lock;
}

interface Work {
  folder: string;
  fingerprint: string;
  /** Of the request for a new job. */
  toBody(): Promise<object>;
}

/** The files of the job; of a new one where those of a job that was begun before are gone. */
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
  process.stderr.write(`sonant: ${url} has no audio of the job ${job.id} any more; beginning a new one\n`);
  const made = await finishJob(await beginJob(work, served), served);
  return { job: made, files: await fetchFiles(made, output, served) };
}

/** The id of the job that was begun by the same command. */
async function findFormerJob({ folder, fingerprint }: Work, client: ServiceClient): Promise<string | undefined> {
  const { url } = client;
  const before = servedJobIn(folder);
  if (before?.url !== url || before.fingerprint !== fingerprint) {
    if (before) await leave(before, client);
    return undefined;
  }
  const job = await findJob(client, before.id);
  if (job?.status === 'failed' || job?.status === 'canceled')
    await client.send(`${pathOf(before.id)}/retry`, { method: 'POST' });
  if (!job) process.stderr.write(`sonant: ${url} has no job ${before.id}; beginning a new one\n`);
  return job?.id;
}

/** The id of a new job. */
async function beginJob({ folder, fingerprint, toBody }: Work, { client, signal }: Served): Promise<string> {
  const { url } = client;
  const body = await checkServedFlags(url, toBody);
  const job: ServedJob = { url, id: createId('book'), fingerprint };
  keepServedJob(folder, job);
  const patience = { signal, patienceMs: patienceMs.taking, mayPass: isPassing };
  try {
    await withPatience(patience, () =>
      checkServedFlags(url, () => client.send(pathOf(job.id), { method: 'PUT', body })),
    );
  } catch (error) {
    // A reply says that there is no job; where none came, there may be one.
    if (error instanceof UsageError || error instanceof Failure) await rm(join(folder, 'job.json'));
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

/** What another command began would go on for nobody. */
async function leave({ url, id }: ServedJob, client: ServiceClient): Promise<void> {
  if (url !== client.url) process.stderr.write(`sonant: the job ${id} goes on at ${url}\n`);
  else if (await findJob(client, id)) await client.send(pathOf(id), { method: 'DELETE' });
}

/** A voice that is not there is none of that service. */
const checkServedFlags = <Result>(url: string, check: () => Promise<Result>): Promise<Result> =>
  checkFlags(() =>
    check().catch((error: unknown) => {
      if (!(error instanceof Failure) || error.reason !== 'voice_not_found') throw error;
      const [question = ''] = / did you mean [^?]+\?/.exec(error.message) ?? [];
      throw new UsageError(
        `${url} has no such voice for this key;${question} GET ${url}/api/voices lists those there are`,
      );
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

/** Follows the job to its end, over breaks of the connection and restarts of the service. */
async function finishJob(id: string, { client, signal }: Served): Promise<JobJson> {
  const progress = createBookProgress();
  const mayPass = (error: unknown) => error instanceof Unreachable || isPassing(error);
  let lastId = '';
  try {
    const onWait = (error: Error) => {
      progress.clear();
      process.stderr.write(`sonant: ${error.message}; trying again\n`);
    };
    const patience = { signal, patienceMs: patienceMs.away, mayPass, onWait };
    const last = await withPatience(patience, async (goOn) => {
      const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
      const reply = await client.send(`${pathOf(id)}/events`, { headers });
      if (reply.status === 204) return client.sendForJson<JobJson>(pathOf(id));
      for await (const event of readEvents(readReply(reply, client, signal))) {
        goOn();
        lastId = event.id;
        const { job }: { job?: JobJson } = JSON.parse(event.data);
        // The events end before the job does: asked again, the service states why.
        if (!job) break;
        const { chars, chars_done: charsDone, chapters_done: chaptersDone } = job.progress;
        progress.show({ chars, charsDone, chaptersDone, chapterCount: job.chapters.length });
        if (job.ended_at !== null) return job;
      }
      throw new Unreachable(`${client.url} ended the events of the job`);
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
  const captions: string[] = [];
  for (const [kind, link] of Object.entries(job.captions)) {
    const path = captionPathOf(output, kind);
    await writeWhole(path, download(link, served), served.signal);
    captions.push(path);
  }
  return { bytes, captions };
}

/** The bytes of a link, gone on with where a connection broke. */
async function* download(link: string, { client, signal }: Served): AsyncGenerator<Uint8Array> {
  const mayPass = (error: unknown) => error instanceof Unreachable || isPassing(error);
  const patience = { signal, patienceMs: patienceMs.away, mayPass };
  let byteCount = 0;
  let pieces: AsyncGenerator<Uint8Array> | undefined;
  const next = async (goOn: () => void) => {
    if (!pieces) {
      const reply = await client.open(link, byteCount);
      if (byteCount > 0 && reply.status !== 206)
        throw new CommandError(`${link} cannot be gone on with; give the command again`);
      pieces = readReply(reply, client, signal);
    }
    const piece = await pieces.next().catch((error: unknown) => {
      pieces = undefined;
      throw error;
    });
    goOn();
    return piece;
  };
  for (;;) {
    const { done, value } = await withPatience(patience, next);
    if (done) return;
    byteCount += value.length;
    yield value;
  }
}
