// `sonant book`: speaks a book into one file with chapter marks, cover and metadata. What is spoken is kept beside the file
// until it is whole, so that an interrupted command goes on where it was when it is given again.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { type BookWork, openBookWork } from '../app/open-book-work.ts';
import { type FormatName, formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import type { Book } from '../books/book.ts';
import { readBook } from '../books/read-book.ts';
import { toCaptions } from '../delivery/captions.ts';
import { readCaptions } from '../delivery/stored-captions.ts';
import type { Job } from '../jobs/job.ts';
import { parseJobRequest } from '../jobs/job-request.ts';
import { toJobFields } from '../operations/books.ts';
import { type CaptionKind, captionKinds } from '../speech/fields.ts';
import { isSpokenBy, type Voices } from '../speech/voice.ts';
import { openAudioFile } from './audio-sink.ts';
import { type ChosenChapter, chooseChapters, listChapters, listChaptersAsJson, parseVoices } from './book-chapters.ts';
import { parseSpeakers, silentSpeakers, withSpeakers } from './book-speakers.ts';
import { chooseFormat } from './chosen-format.ts';
import { chooseVoice } from './chosen-voice.ts';
import {
  type Command,
  CommandError,
  type CommandLine,
  type FlagsOf,
  onlyArgument,
  parseCommandArgs,
  UsageError,
  withOpened,
  withSpeechFlags,
} from './command.ts';
import { createProgressBar } from './progress-bar.ts';
import { createTimeLeft } from './time-left.ts';

const options = {
  output: { type: 'string', short: 'o' },
  chapters: { type: 'string' },
  skip: { type: 'string' },
  list: { type: 'boolean' },
  voice: { type: 'string', short: 'v', multiple: true },
  speaker: { type: 'string', multiple: true },
  language: { type: 'string', short: 'l' },
  format: { type: 'string', short: 'f' },
  'sample-rate': { type: 'string' },
  'speaking-rate': { type: 'string' },
  gap: { type: 'string' },
  captions: { type: 'string', multiple: true },
  code: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

const usage = 'sonant book FILE -o FILE';

export const bookCommand: Command = {
  name: 'book',
  summary: 'speak a book into one file with chapter marks',
  options,
  choices: { format: formatNames, 'sample-rate': outputSampleRatesHz.map(String), captions: captionKinds },
  help: () => `Usage: sonant book FILE -o FILE [options]
       sonant book FILE --list

Speaks a book, which is plain text, Markdown, HTML or EPUB, into one file with chapter marks, its cover, its title and its
author. What is spoken is kept in FILE.work until the file is whole: the same command goes on where it was interrupted.

  -o, --output FILE          the sound file; its extension tells the format
      --list                 print the chapters with their numbers, and speak nothing
      --chapters NUMBERS     only these, such as 3-7,9 or 4-
      --skip PARTS           leave these out: front, notes, back, or several with commas between
  -v, --voice VOICE          the voice; 3=VOICE or 5-7=VOICE for some chapters, several times
      --speaker NAME=VOICE   lines that begin with "NAME:" are said by this voice, several times
  -l, --language CODE        the language; default: that of the book, if the voice speaks it
  -f, --format FORMAT        ${formatNames.join(', ')}; default: by the extension
      --sample-rate HZ       ${outputSampleRatesHz.join(', ')}
      --speaking-rate RATE   the tempo
      --gap SECONDS          silence between two chapters
      --captions KIND        also write captions beside the file: ${captionKinds.join(', ')}, or both with a comma between
      --code                 read blocks of code, which are left out otherwise
      --json                 print what was made, or the list, as JSON
`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const path = onlyArgument(positionals, usage);
    const book = await readBook({ source: path, readsCode: values.code ?? false, signal: line.signal }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.syscall === undefined) throw error;
        throw new UsageError(`cannot read ${path}: ${error.message}`);
      },
    );
    for (const warning of book.warnings) process.stderr.write(`sonant: ${warning}\n`);
    if (values.list) {
      const chosen = chooseChapters(book.chapters, { skip: values.skip, numbers: values.chapters });
      line.print(values.json ? listChaptersAsJson(chosen) : listChapters(chosen));
      return 0;
    }
    if (!values.output) throw new UsageError(`name a file for the sound: ${usage}`);
    const made = await speakBook(book, { ...values, output: values.output }, line);
    if (values.json) line.print(JSON.stringify(made, null, 2));
    return 0;
  },
};

type Flags = FlagsOf<typeof options> & { output: string };

async function speakBook(book: Book, flags: Flags, { openApp, signal }: CommandLine) {
  const { output } = flags;
  const format = chooseFormat(flags.format, output);
  const chosen = chooseChapters(book.chapters, { skip: flags.skip, numbers: flags.chapters });
  const folder = `${resolve(output)}.work`;
  const isBegun = existsSync(folder);
  const made = await withOpened(await openApp(), async ({ voices, speech }) => {
    const fields = await checkFlags(async () => toFields(book, chosen, { flags, format, voices }));
    const work = await openBookWork({ speech }, { folder, signal, onFault: reportFault });
    return withOpened(work, async () => {
      const id = await beginJob(work, fields);
      return writeFiles(await finishJob(work, id, signal), work, { output, signal });
    }).catch(async (error: unknown) => {
      // What is refused before it begins leaves nothing behind.
      if (error instanceof UsageError && !isBegun) await rm(folder, { recursive: true });
      throw error;
    });
  });
  await rm(folder, { recursive: true });
  return { output, title: book.title, author: book.author, format, ...made };
}

const reportFault = (fault: unknown): void =>
  void process.stderr.write(`sonant: ${fault instanceof Error ? fault.message : String(fault)}\n`);

interface Choices {
  flags: Flags;
  format: FormatName;
  voices: Voices;
}

/** The fields of the job, under their JSON names. */
function toFields(book: Book, chosen: readonly ChosenChapter[], { flags, format, voices }: Choices) {
  const toNumber = (given: string | undefined) => (given === undefined ? undefined : Number(given));
  const { usual, ofChapter } = parseVoices(flags.voice ?? [], book.chapters.length);
  const speakers = parseSpeakers(flags.speaker ?? []);
  const texts = chosen.map(({ text }) => text);
  for (const name of silentSpeakers(texts, speakers))
    process.stderr.write(`sonant: --speaker ${name}: no line of the chapters begins with "${name}:"\n`);
  const { voiceId, languageCode } = chooseSpeech(voices, {
    voice: usual,
    language: flags.language,
    ofBook: book.language,
  });
  const chapters = chosen.flatMap(({ title, text, number }) =>
    withSpeakers(text, speakers).map((said, n) => ({
      title: n === 0 ? title : `${title} (${n + 1})`,
      text: said,
      ...(ofChapter.has(number) && { voice_id: ofChapter.get(number) }),
    })),
  );
  const { metadata, cover } = toJobFields(book);
  return {
    voice_id: voiceId,
    language_code: languageCode,
    markup: speakers.size > 0 ? 'ssml' : undefined,
    output_format: format,
    sample_rate: toNumber(flags['sample-rate']),
    speaking_rate: toNumber(flags['speaking-rate']),
    chapter_gap_seconds: toNumber(flags.gap),
    captions: flags.captions?.flatMap((kinds) => kinds.split(',')),
    metadata,
    cover,
    chapters,
  };
}

/** The language of the book counts where some voice here, or the one that is named, speaks it. */
function chooseSpeech(
  voices: Voices,
  { voice, language, ofBook }: { voice: string | undefined; language: string | undefined; ofBook: string },
) {
  const isSpoken = ({ voice: each, status }: ReturnType<Voices['list']>[number]) =>
    status === 'ready' && isSpokenBy(each, ofBook) && (voice === undefined || each.voiceId === voice);
  const wanted = language ?? (ofBook !== '' && voices.list().some(isSpoken) ? ofBook : undefined);
  const voiceId = voice ?? chooseVoice(voices, wanted);
  return { voiceId, languageCode: wanted ?? voices.find(voiceId).voice.languageCodes[0] };
}

const flagOf = (field: string): string =>
  ({
    voice_id: '--voice',
    language_code: '--language',
    output_format: '--format',
    sample_rate: '--sample-rate',
    speaking_rate: '--speaking-rate',
    chapter_gap_seconds: '--gap',
    captions: '--captions',
  })[field] ?? field;

/** Reports faults of the job under the names of the flags that it was made from. */
const checkFlags = <T>(check: () => Promise<T>): Promise<T> => withSpeechFlags(flagOf, check);

/** The job with these fields, which may have begun before; its id. */
async function beginJob({ jobs, call }: BookWork, fields: object): Promise<string> {
  const id = createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 32);
  const { job } = await checkFlags(() => jobs.createJob(call, parseJobRequest({ ...fields }), id));
  // What another command began would take half of the machine.
  const { items } = await jobs.listJobs(call, { status: undefined }, { size: 100, after: undefined });
  for (const other of items) if (other.id !== id) await jobs.deleteJob(call, other.id);
  if (job.status === 'failed' || job.status === 'canceled') await jobs.retryJob(call, id);
  return id;
}

/** Speaks what is missing of it. */
async function finishJob({ jobs, call }: BookWork, id: string, signal: AbortSignal): Promise<Job> {
  const bar = createProgressBar(process.stderr);
  const left = createTimeLeft();
  let last: Job | undefined;
  try {
    for await (const event of jobs.watchJob(call, id, 0)) {
      last = event.job;
      const { chars, charsDone, chaptersDone } = last.progress;
      bar.show(
        charsDone / chars,
        `chapter ${Math.min(chaptersDone + 1, last.chapters.length)} of ${last.chapters.length}${left(charsDone, chars)}`,
      );
    }
  } finally {
    bar.clear();
    if (signal.aborted) process.stderr.write('sonant: interrupted; the same command goes on from here\n');
  }
  signal.throwIfAborted();
  if (last?.status !== 'succeeded') throw new CommandError(explainFault(last ?? (await jobs.getJob(call, id))));
  return last;
}

function explainFault({ error, chapters }: Job): string {
  const where = error?.chapter === undefined ? '' : ` in "${chapters[error.chapter]?.title ?? ''}"`;
  const text = error?.text === undefined ? '' : `, at: ${error.text}`;
  return `the book could not be spoken${where}: ${error?.message ?? 'it was ended'}${text}\n  The same command tries again what is missing`;
}

async function writeFiles(job: Job, { clips }: BookWork, { output, signal }: { output: string; signal: AbortSignal }) {
  const audioId = job.audioUrl!.replace(/^.*\/|\.\w+$/g, '');
  const write = async (path: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) =>
    withOpened(await openAudioFile(path, signal), async (sink) => {
      for await (const piece of pieces) await sink.write(piece);
      await sink.finish(undefined);
    });
  const stored = await clips.open(audioId);
  if (!stored) throw new CommandError('the finished file is gone; give the command again');
  await write(output, stored.body);
  const captions = Object.keys(job.captionUrls).map((kind) => ({
    kind: kind as CaptionKind,
    path: `${output.slice(0, output.length - extname(output).length)}.${kind}`,
  }));
  const cues = captions.length > 0 ? ((await readCaptions(clips, audioId)) ?? []) : [];
  for (const { kind, path } of captions) await write(path, [Buffer.from(toCaptions(kind, cues))]);
  return {
    bytes: stored.byteCount,
    seconds: job.progress.seconds,
    captions: captions.map(({ path }) => path),
    chapters: job.chapters.map(({ title, startSeconds: start, endSeconds: end }) => ({ title, start, end })),
  };
}
