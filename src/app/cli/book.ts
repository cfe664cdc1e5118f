// `sonant book`: speaks a book into one file with chapter marks, cover and metadata. Finished segments are kept beside
// the file until the file is complete, so that the same command can resume after an interruption.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { type Job, JobService, JobStatus } from '../../../gen/sonant/v1/job_service_pb.ts';
import { anonymous, openCommandApi } from '../../api.ts';
import { openClipFolder } from '../../clips.ts';
import { Reading, readMembers } from '../../contract.ts';
import { type Book, readBook } from '../../library.ts';
import { Failure } from '../../platform/errors.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import type { CaptionKind } from '../../speech.ts';
import type { App } from '../command-line.ts';
import { chooseFormat, pathBeside, writeWhole } from './audio-sink.ts';
import {
  type BookFlags,
  bookOptions,
  checkFlags,
  chooseChapters,
  listChapters,
  listChaptersAsJson,
  toFields,
} from './book-request.ts';
import {
  type Command,
  CommandError,
  type CommandLine,
  onlyArgument,
  parseCommandArgs,
  UsageError,
  withOpened,
} from './command.ts';
import { localCall } from './operator-call.ts';
import { createBookProgress, toDuration } from './progress.ts';

// Jobs of `sonant book`, in a work folder beside the output file. Finished segments stay in the folder, so that the
// same command can resume after an interruption. No service sees these jobs, and nothing is charged.

type BookWork = Awaited<ReturnType<typeof openBookWork>>;

const callerId = 'command line';

/** Rejects if another command uses the work folder. `onFault` receives errors that do not stop a job. */
async function openBookWork(
  { speech, openSigner }: Pick<App, 'speech' | 'openSigner'>,
  { folder, signal, onFault }: { folder: string; signal: AbortSignal; onFault(fault: unknown): void },
) {
  await using opened = new AsyncDisposableStack();
  const {
    jobs: ofFolder,
    keepMs,
    ...files
  } = opened.adopt(await openClipFolder(folder, openSigner), ({ close }) => close());
  // The user of the command line may use all voices.
  const caller = { ...anonymous, callerId, keyId: callerId, accountId: callerId, usesAllVoices: true };
  const links = { baseUrl: () => '', keepMs };
  const jobs = { ...ofFolder, speech, findCaller: async () => caller, links, onFault };
  const { callRpc, close } = openCommandApi({ jobs });
  opened.defer(close);
  const kept = opened.move();
  return {
    ...files,
    callRpc,
    call: localCall(caller, signal),
    close: (): Promise<void> => kept.disposeAsync(),
  };
}

const usage = 'sonant book FILE -o FILE';

export const bookCommand: Command = {
  name: 'book',
  summary: 'speak a book into one file with chapter marks',
  examples: [
    'sonant book story.epub --list',
    'sonant book story.epub -o story.mp3 --voice clara --skip front,notes',
    'sonant book play.md -o play.opus --speaker ANNA=clara --captions srt',
  ],
  options: bookOptions,
  usage: () => `Usage: sonant book FILE -o FILE [options]
       sonant book FILE --list

Speaks a book (plain text, Markdown, HTML or EPUB) into one audio file with chapter marks, cover, title and author. Finished
chapters are stored in FILE.work until the file is complete: after an interruption, run the same command to resume.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options: bookOptions, allowPositionals: true });
    const path = onlyArgument(positionals, usage);
    const { list, json, output = '', ...flags } = values;
    if (!list && output === '') throw new UsageError(`name an audio file: ${usage}`);
    if (list) {
      const { chapters } = await readBookFile(path, { readsCode: flags.code ?? false, signal: line.signal });
      const chosen = chooseChapters(chapters, { skip: flags.skip, numbers: flags.chapters });
      line.print(json ? listChaptersAsJson(chosen) : listChapters(chosen));
      return 0;
    }
    const made = await speakBook(path, { ...flags, output }, line);
    const { length: count } = made.chapters;
    if (json) line.print(JSON.stringify(made, null, 2));
    else line.print(`${output}: ${toDuration(made.seconds)}, ${count} ${count === 1 ? 'chapter' : 'chapters'}`);
    return 0;
  },
};

async function readBookFile(
  path: string,
  { readsCode, signal }: { readsCode: boolean; signal: AbortSignal },
): Promise<Book> {
  const book = await readBook({ source: path, readsCode, signal }).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined) throw error;
    throw new UsageError(`cannot read ${path}: ${reasonOf(error)}`);
  });
  for (const warning of book.warnings) process.stderr.write(`sonant: ${warning}\n`);
  return book;
}

async function speakBook(path: string, flags: BookFlags, { openApp, signal }: CommandLine) {
  const { output } = flags;
  const book = await readBookFile(path, { readsCode: flags.code ?? false, signal });
  const format = chooseFormat(flags.format, output);
  const chosen = chooseChapters(book.chapters, { skip: flags.skip, numbers: flags.chapters });
  // The folder keeps the unfinished work until the file is complete.
  const folder = `${resolve(output)}.work`;
  const isBegun = existsSync(folder);
  const made = await withOpened(await openApp(), async ({ voices, speech, openSigner }) => {
    const choices = { flags, format, voices };
    const fields = await checkFlags(async () => toFields(book, chosen, choices));
    const work = await openBookWork({ speech, openSigner }, { folder, signal, onFault: reportFault });
    return withOpened(work, async () => {
      const id = await beginJob(work, fields);
      return writeFiles(await finishJob(work, id, signal), work, { output, signal });
    }).catch(async (error: unknown) => {
      // If the request is refused, the new folder is removed.
      if (error instanceof UsageError && !isBegun) await rm(folder, { recursive: true });
      throw error;
    });
  });
  await rm(folder, { recursive: true });
  return { output, title: book.title, author: book.author, format, ...made };
}

const reportFault = (fault: unknown): void =>
  void process.stderr.write(`sonant: ${fault instanceof Error ? fault.message : String(fault)}\n`);

const { createJob, listJobs, getJob, watchJob, retryJob, deleteJob } = JobService.method;

/** Creates the job with these fields, or continues the job of an earlier command. Returns the id of the job. */
async function beginJob({ callRpc, call }: BookWork, fields: Readonly<Record<string, unknown>>): Promise<string> {
  const jobId = createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 32);
  const message = create(createJob.input, { jobId });
  const reading = new Reading(true);
  readMembers(message, createJob.input, fields, reading);
  const createOrFind = (): Promise<{ job: Job }> => callRpc(createJob, message, call, reading);
  const { job } = await checkFlags(async () => {
    try {
      return await createOrFind();
    } catch (error) {
      // Versions of Sonant may describe the same request differently.
      if (!(error instanceof Failure && error.reason === 'idempotency_conflict')) throw error;
      process.stderr.write('sonant: another version of Sonant began this book; it is spoken again from the start\n');
      await callRpc(deleteJob, create(deleteJob.input, { jobId }), call);
      return createOrFind();
    }
  });
  // Deletes the job of another command for the same file, because that job would use half of the machine's capacity.
  const { jobs: all }: { jobs: Job[] } = await callRpc(listJobs, create(listJobs.input), call);
  for (const { id } of all) if (id !== jobId) await callRpc(deleteJob, create(deleteJob.input, { jobId: id }), call);
  if (job.status === JobStatus.FAILED || job.status === JobStatus.CANCELED)
    await callRpc(retryJob, create(retryJob.input, { jobId }), call);
  return jobId;
}

/** Waits until all missing chapters have been spoken. */
async function finishJob({ callRpc, call }: BookWork, jobId: string, signal: AbortSignal): Promise<Job> {
  const progress = createBookProgress();
  let last: Job | undefined;
  try {
    const events: AsyncIterable<{ job: Job }> = await callRpc(watchJob, create(watchJob.input, { jobId }), call);
    for await (const event of events) {
      last = event.job;
      progress.show({ ...last.progress!, chapterCount: last.chapters.length });
    }
  } finally {
    progress.clear();
    if (signal.aborted) process.stderr.write('sonant: interrupted; run the same command to resume\n');
  }
  signal.throwIfAborted();
  const job: Job = last ?? (await callRpc(getJob, create(getJob.input, { jobId }), call)).job;
  if (job.status !== JobStatus.SUCCEEDED) throw new CommandError(explain(job));
  return job;
}

/** Explains why a job did not finish. A job without an error was canceled. */
function explain({ error, chapters }: Job): string {
  const title = error?.chapter === undefined ? undefined : chapters[error.chapter]?.title;
  const where = title === undefined ? '' : ` in "${title}"`;
  const text = error?.text ? `, at: ${error.text}` : '';
  return `the book could not be spoken${where}: ${error?.message ?? 'the job was canceled'}${text}\n  Run the same command to try the missing chapters again`;
}

async function writeFiles(
  job: Job,
  { open, captionsOf, manifestOf }: BookWork,
  { output, signal }: { output: string; signal: AbortSignal },
) {
  const audioId = job.audioUrl.replace(/^.*\/|\.\w+$/g, '');
  const stored = await open(audioId);
  if (!stored) throw new CommandError('the finished file was deleted; run the command again');
  await writeWhole(output, stored.body, signal);
  const manifest = job.audioUrl.endsWith('.opus') ? await manifestOf(audioId) : undefined;
  if (manifest) await writeWhole(pathBeside(output, 'c2pa'), [manifest], signal);
  const captions = Object.keys(job.captions).map((kind) => ({
    kind: kind as CaptionKind,
    path: pathBeside(output, kind),
  }));
  for (const { kind, path } of captions) await writeWhole(path, [await captionsOf(audioId, kind)], signal);
  return {
    bytes: stored.byteCount,
    seconds: job.progress!.seconds,
    captions: captions.map(({ path }) => path),
    chapters: job.chapters.map(({ title, start, end }) => ({ title, start, end })),
  };
}
