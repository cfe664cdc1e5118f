// `sonant book` on this machine: the command speaks the book itself, as a job in the work folder beside the file.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type BookWork, openBookWork } from '../app/book-work.ts';
import type { Book } from '../books/book.ts';
import { readBook } from '../books/read-book.ts';
import { toCaptions } from '../delivery/captions.ts';
import { readCaptions } from '../delivery/stored-captions.ts';
import type { Job } from '../jobs/job.ts';
import { parseJobRequest } from '../jobs/job-request.ts';
import type { CaptionKind } from '../speech/fields.ts';
import { chooseFormat, writeWhole } from './audio-sink.ts';
import {
  type BookFlags,
  captionPathOf,
  checkFlags,
  chooseChapters,
  explainFault,
  toFields,
  toJobBook,
  voicesHere,
  workFolderOf,
} from './book-request.ts';
import { CommandError, type CommandLine, UsageError, withOpened } from './command.ts';
import { createBookProgress } from './progress.ts';
import { servedJobIn } from './served-book.ts';

export async function readLocalBook(
  path: string,
  { readsCode, signal }: { readsCode: boolean; signal: AbortSignal },
): Promise<Book> {
  const book = await readBook({ source: path, readsCode, signal }).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined) throw error;
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });
  for (const warning of book.warnings) process.stderr.write(`sonant: ${warning}\n`);
  return book;
}

export async function speakLocally(path: string, flags: BookFlags, { openApp, signal }: CommandLine) {
  const { output } = flags;
  const book = await readLocalBook(path, { readsCode: flags.code ?? false, signal });
  const format = chooseFormat(flags.format, output);
  const chosen = chooseChapters(book.chapters, { skip: flags.skip, numbers: flags.chapters });
  const folder = workFolderOf(output);
  const served = servedJobIn(folder);
  if (served)
    throw new UsageError(
      `${output} is being made by ${served.url}: add --server, or delete ${folder} to begin anew here`,
    );
  const isBegun = existsSync(folder);
  const made = await withOpened(await openApp(), async ({ voices, speech }) => {
    const choices = { flags, format, voices: voicesHere(voices) };
    const fields = await checkFlags(() => toFields(toJobBook(book), chosen, choices));
    const work = await openBookWork({ speech }, { folder, signal, onFault: reportFault });
    return withOpened(work, async () => {
      const id = await beginJob(work, fields);
      return writeFiles(await finishJob(work, id, signal), work, { output, signal });
    }).catch(async (error: unknown) => {
      // A refused request leaves no folder.
      if (error instanceof UsageError && !isBegun) await rm(folder, { recursive: true });
      throw error;
    });
  });
  await rm(folder, { recursive: true });
  return { output, title: book.title, author: book.author, format, ...made };
}

const reportFault = (fault: unknown): void =>
  void process.stderr.write(`sonant: ${fault instanceof Error ? fault.message : String(fault)}\n`);

/** Creates the job with these fields, or continues it if an earlier command created it. Returns its id. */
async function beginJob({ jobs, call }: BookWork, fields: object): Promise<string> {
  const id = createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 32);
  const { job } = await checkFlags(async () => jobs.createJob(call, await parseJobRequest({ ...fields }), id));
  // A job of another command for the same file would take half of the machine.
  const { items } = await jobs.listJobs(call, { status: undefined }, { size: 100, after: undefined, tokenPrefix: '' });
  for (const other of items) if (other.id !== id) await jobs.deleteJob(call, other.id);
  if (job.status === 'failed' || job.status === 'canceled') await jobs.retryJob(call, id);
  return id;
}

/** Waits until all missing chapters are spoken. */
async function finishJob({ jobs, call }: BookWork, id: string, signal: AbortSignal): Promise<Job> {
  const progress = createBookProgress();
  let last: Job | undefined;
  try {
    for await (const event of jobs.watchJob(call, id, 0)) {
      last = event.job;
      progress.show({ ...last.progress, chapterCount: last.chapters.length });
    }
  } finally {
    progress.clear();
    if (signal.aborted) process.stderr.write('sonant: interrupted; the same command goes on from here\n');
  }
  signal.throwIfAborted();
  if (last?.status !== 'succeeded') throw new CommandError(explain(last ?? (await jobs.getJob(call, id))));
  return last;
}

const explain = ({ error, chapters }: Job): string =>
  explainFault(error && { ...error, title: error.chapter === undefined ? undefined : chapters[error.chapter]?.title });

async function writeFiles(job: Job, { clips }: BookWork, { output, signal }: { output: string; signal: AbortSignal }) {
  const audioId = job.audioUrl!.replace(/^.*\/|\.\w+$/g, '');
  const stored = await clips.open(audioId);
  if (!stored) throw new CommandError('the finished file is gone; give the command again');
  await writeWhole(output, stored.body, signal);
  const captions = Object.keys(job.captionUrls).map((kind) => ({
    kind: kind as CaptionKind,
    path: captionPathOf(output, kind),
  }));
  const cues = captions.length > 0 ? ((await readCaptions(clips, audioId)) ?? []) : [];
  for (const { kind, path } of captions) await writeWhole(path, [Buffer.from(toCaptions(kind, cues))], signal);
  return {
    bytes: stored.byteCount,
    seconds: job.progress.seconds,
    captions: captions.map(({ path }) => path),
    chapters: job.chapters.map(({ title, startSeconds: start, endSeconds: end }) => ({ title, start, end })),
  };
}
