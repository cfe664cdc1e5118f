// `sonant say`: speaks a text from an argument, a file or standard input into a file, a pipe or a player.
import { isUtf8 } from 'node:buffer';
import { constants, createReadStream, existsSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { StreamSpeechRequestSchema } from '../../../gen/sonant/v1/speech_pb.ts';
import { audioFormats, type FormatName } from '../../audio.ts';
import { registry } from '../../engines.ts';
import { firstModelOf } from '../../library.ts';
import { isSpokenBy, toLanguageCode } from '../../platform/language-code.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import {
  readRequest,
  type Speech,
  type SpeechEvent,
  type SpeechRequest,
  speechFields,
  type Voices,
} from '../../speech.ts';
import {
  type AudioSink,
  chooseFormat,
  openAudioFile,
  openPlayer,
  openStandardOutput,
  playerNames,
  signAudioFile,
} from './audio-sink.ts';
import {
  type Command,
  type FlagsOf,
  flag,
  option,
  parseCommandArgs,
  UsageError,
  withOpened,
  withSpeechFlags,
} from './command.ts';
import { openLexiconFile } from './lexicon.ts';
import { createProgressBar } from './progress.ts';
import { flagOfField, type SpeechFlag, type SpeechFlagValues, speechFieldsOf, speechFlags } from './speech-flags.ts';

/** Options that set fields of the request. */
const fieldOptions: Command['options'] = Object.fromEntries(
  Object.values(speechFlags as Readonly<Record<string, SpeechFlag>>).map(({ name, short, value, help }) => [
    name,
    value ? option(value, help, short ? { short } : {}) : flag(help, short),
  ]),
);

const options = {
  output: option('FILE', 'the audio file; - is standard output, the default if that is a pipe', { short: 'o' }),
  play: flag(`play the audio while it is generated, with the first installed of:\n${playerNames.join(', ')}`, 'p'),
  input: option('FILE', 'read the text from a file; - is standard input', { short: 'i' }),
  ssml: flag('the text is an SSML document'),
  ...fieldOptions,
  lexicon: option('ID', fieldOptions.lexicon!.help, { multiple: true }),
  json: flag('print a description of the result as JSON'),
};

type Flags = FlagsOf<typeof options> & Omit<SpeechFlagValues, 'lexicon'>;

const caller = { callerId: 'command line', accountId: 'command line', usesAllVoices: true };

export const sayCommand: Command = {
  name: 'say',
  summary: 'speak a text aloud, into a file or a pipe',
  examples: [
    'sonant say "Hello." -o hello.wav',
    'sonant say -i letter.txt --play --voice clara --speaking-rate 1.2',
    'echo "Hello." | sonant say --format mp3 > hello.mp3',
  ],
  options,
  usage: () => `Usage: sonant say [TEXT] [-o FILE | --play] [options]

Speaks TEXT, or the file given with -i, or standard input. Beside an Opus file (.opus, .ogg), it writes a file with the
extension .c2pa: the signed statement that Sonant made the audio.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const flags: Flags = values;
    const given = takeText(positionals, flags.input);
    const output = chooseOutput(flags);
    const format = output === undefined ? 'pcm' : chooseFormat(flags.format, output);
    const text = given ?? (await readText(flags.input, line.signal));
    const spoken = await withOpened(await line.openApp(), async ({ voices, speech, addLexicon, openSigner }) => {
      for (const each of flags.lexicon ?? []) if (!isLexiconId(each)) addLexicon(await openLexiconFile(fileOf(each)));
      const usable = voices.usableBy({ usesAllVoices: true });
      const request = await checkFlags(async () => toRequest(flags, text, format, usable));
      const isChosen =
        flags.voice !== undefined || flags.language !== undefined || line.loadConfig().fetchVoice === 'off';
      if (!isChosen && process.stderr.isTTY && !usable.find(request.voiceId).isNatural)
        process.stderr.write(line.asTyped(naturalHint));
      const made = await withOpened(await openSink(output, request, line.signal), (sink) => {
        const events = speech.streamSpeech(request, caller, line.signal);
        return checkFlags(() => writeSound(events, sink));
      });
      const { origin, ...facts } = made;
      if (output === undefined || output === '-' || !origin || !openSigner) return facts;
      return { ...facts, bytes: await signAudioFile(output, facts.format, origin, openSigner, line.signal) };
    });
    if (spoken.warnings.includes('nothing_spoken'))
      process.stderr.write('sonant: warning: nothing in the text can be spoken; the audio is a short silence\n');
    const ignored = spoken.warnings.filter((warning) => warning.startsWith('ignored:'));
    if (ignored.length > 0)
      process.stderr.write(
        `sonant: warning: ignored, no effect here: ${ignored.map((each) => each.slice(8)).join(', ')}\n`,
      );
    if (flags.json) line.print(JSON.stringify({ output: output ?? null, ...spoken }, null, 2));
    return 0;
  },
};

/** `say` never waits for a download that nobody asked for. */
const naturalHint = `sonant: this voice is synthetic; sonant voice get ${firstModelOf(registry)} installs a natural one\n`;

/** The output file, or `-`; undefined if the audio is played. */
function chooseOutput({ output, play, format, json, timestamps }: Flags): string | undefined {
  if (timestamps && !json) throw new UsageError('--timestamps needs --json');
  if (play && (output ?? format) !== undefined) throw new UsageError('--play excludes --output and --format');
  if (play) return undefined;
  const chosen = output ?? (process.stdout.isTTY ? undefined : '-');
  if (chosen === undefined) throw new UsageError('name an audio file with -o FILE, or play the audio with --play');
  if (json && chosen === '-') throw new UsageError('--json needs an audio file: -o FILE');
  return chosen;
}

async function openSink(output: string | undefined, request: SpeechRequest, signal: AbortSignal): Promise<AudioSink> {
  if (output === undefined) return openPlayer(request.sampleRateHz, signal);
  return output === '-' ? openStandardOutput(signal) : openAudioFile(output, signal);
}

/** Whether the value of `--lexicon` is an id. Any other value is the path of a file. */
const isLexiconId = (given: string): boolean => /^lex_[0-9A-Z]+$/.test(given);

const flagOf = (field: string): string => {
  const isText = field === 'text' || field === 'ssml';
  return isText ? 'the text' : (flagOfField(field) ?? field);
};

/** Reports invalid fields of the request under the names of their flags. */
const checkFlags = <T>(check: () => Promise<T>): Promise<T> => withSpeechFlags(flagOf, check);

function toRequest(flags: Flags, text: string, format: FormatName, voices: Voices): SpeechRequest {
  const voiceId = flags.voice ?? chooseVoice(voices, flags.language);
  const own = voices.find(voiceId).voice.languageCodes[0];
  const fields = {
    ...speechFieldsOf(flags),
    [flags.ssml ? 'ssml' : 'text']: text,
    voice_id: voiceId,
    language_code: flags.language ?? own,
    output_format: format,
  };
  return readRequest(StreamSpeechRequestSchema, fields, { limits: { charsMax: Infinity } }).request;
}

/** The first voice that can speak; if a language is given, the first voice that speaks the language. */
function chooseVoice(voices: Voices, language: string | undefined): string {
  const code = language === undefined || language === speechFields.autoLanguage ? undefined : toLanguageCode(language);
  const able = voices.list().filter(({ status, bindings }) => status === 'ready' && bindings.length > 0);
  const chosen = able.find(({ voice }) => code === undefined || isSpokenBy(voice, code));
  if (!chosen) throw new UsageError(`no voice speaks ${language}; sonant voice list prints the languages`);
  return chosen.voice.voiceId;
}

/** Writes the audio while it is generated. Returns a description of the audio. */
async function writeSound(events: ReturnType<Speech['streamSpeech']>, sink: AudioSink) {
  const bar = createProgressBar(process.stderr);
  const timestamps: SpeechEvent<'timestamps'>[] = [];
  const marks: object[] = [];
  let info: SpeechEvent<'info'> | undefined;
  let seconds = 0;
  let bytes = 0;
  let head: Uint8Array | undefined;
  try {
    for await (const event of events) {
      const chars = info?.chars ?? 0;
      if (event.type === 'info') info = event;
      else if (event.type === 'timestamps') timestamps.push(event);
      else if (event.type === 'mark') marks.push({ kind: event.kind, name: event.name, time: event.seconds });
      else if (event.type === 'done') ({ seconds, byteCount: bytes, head } = event);
      else if (event.type === 'audio') {
        await sink.write(event.audio);
        bar.show(event.charsBegun / chars, `${event.charsBegun} of ${chars} characters`);
      }
    }
    await sink.finish(head);
  } finally {
    bar.clear();
  }
  const { voice, format, sampleRateHz, chars, warnings, origin } = info!;
  const words = timestamps.flatMap((event) =>
    event.words.map(({ startSeconds: start, endSeconds: end, ...word }) => {
      return { ...word, start, end, language_code: event.languageCode };
    }),
  );
  return {
    voice_id: voice.voiceId,
    format,
    sample_rate: sampleRateHz,
    chars,
    seconds,
    bytes,
    warnings,
    origin,
    ...(words.length > 0 && { words }),
    ...(marks.length > 0 && { marks }),
  };
}

function fileOf(lexicon: string): string {
  if (existsSync(lexicon)) return lexicon;
  throw new UsageError(`--lexicon ${lexicon}: no such file; sonant lexicon list prints the ids of stored lexicons`);
}

/** Maximum size of a text, enough for about two weeks of speech. */
const textMiBMax = 16;

/**
 * The text given as an argument, if any. If options are not preceded by `--`, npm consumes them and passes on only
 * their values.
 */
function takeText(positionals: readonly string[], input: string | undefined): string | undefined {
  const [given, ...more] = positionals;
  if (more.length > 0) {
    const isOutput = speechFields.formatNames.some((format) =>
      more.at(-1)!.endsWith(`.${audioFormats[format].extension}`),
    );
    const named = '; npm takes -o for its own option unless -- precedes the command';
    const hint = isOutput ? `${named}: npm run -s sonant -- say "Hello." -o hello.wav` : '';
    throw new UsageError(`put the text in quotes: it arrived as several arguments${hint}`);
  }
  if (given !== undefined && input !== undefined) throw new UsageError('the text and --input exclude each other');
  return given;
}

/** Text from a file or standard input. A text that is too long or is not UTF-8 is refused, not changed. */
async function readText(input: string | undefined, signal: AbortSignal): Promise<string> {
  const missing = 'add a text: sonant say "Hello." -o hello.wav';
  if (input === undefined && process.stdin.isTTY) throw new UsageError(missing);
  const isPath = input !== undefined && input !== '-';
  let text: string;
  try {
    const source = isPath ? await openInput(input) : process.stdin;
    text = await readWhole(addAbortSignal(signal, source));
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`cannot read ${isPath ? input : 'standard input'}: ${reasonOf(error)}`);
  }
  if (text === '' && !isPath) throw new UsageError(`standard input is empty; ${missing}`);
  return text;
}

async function openInput(path: string): Promise<Readable> {
  if (!(await stat(path)).isFIFO()) return createReadStream(path);
  // A plain read of a named pipe blocks a pool thread, cannot be cancelled and keeps the process alive.
  return new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
}

async function readWhole(source: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of source) {
    length += piece.length;
    if (length > textMiBMax << 20) break;
    pieces.push(piece);
  }
  const bytes = Buffer.concat(pieces);
  const isCut = bytes.length < length;
  const invalidAt = findInvalidUtf8(bytes);
  // If the text was cut at the limit, the last character may be incomplete.
  if (invalidAt !== undefined && !(isCut && invalidAt > bytes.length - 4)) {
    const byte = bytes[invalidAt]!.toString(16).padStart(2, '0');
    throw new Error(
      `it is not UTF-8 (byte 0x${byte} at offset ${invalidAt}); convert it first, for example with iconv`,
    );
  }
  if (isCut) throw new Error(`it is longer than ${textMiBMax} MiB; split it into parts`);
  return bytes.toString('utf8');
}

/** Offset of the first byte that is not part of a character. Decoding replaces such bytes with U+FFFD. */
function findInvalidUtf8(bytes: Buffer): number | undefined {
  if (isUtf8(bytes)) return undefined;
  const replacement = '\ufffd';
  const encoded = Buffer.from(replacement);
  const text = bytes.toString('utf8');
  let offset = 0;
  for (let from = 0; ; ) {
    const found = text.indexOf(replacement, from);
    offset += Buffer.byteLength(text.slice(from, found));
    if (!bytes.subarray(offset, offset + encoded.length).equals(encoded)) return offset;
    offset += encoded.length;
    from = found + 1;
  }
}
