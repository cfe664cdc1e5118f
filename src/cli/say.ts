// `sonant say`: speaks a text of any length, from an argument, a file or standard input, into a file, a pipe or a player.
import { existsSync } from 'node:fs';
import { type FormatName, formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import { autoLanguage, speechFieldRows } from '../speech/fields.ts';
import { parseSpeechRequest, type SpeechRequest } from '../speech/request.ts';
import type { SpeechInfo, SpeechTimestamps } from '../speech/speech-events.ts';
import type { Speech } from '../speech/synthesize.ts';
import { isSpokenBy, type Voices, voicesFor } from '../speech/voice.ts';
import { toLanguageCode } from '../text/language-code.ts';
import { markupKinds } from '../text/read-markup.ts';
import { type AudioSink, chooseFormat, openAudioFile, openStandardOutput } from './audio-sink.ts';
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
import { openPlayer, playerNames } from './player.ts';
import { createProgressBar } from './progress.ts';
import { readText, takeText } from './text-input.ts';

const choices: Readonly<Record<string, readonly string[]>> = {
  format: formatNames,
  'sample-rate': outputSampleRatesHz.map(String),
  markup: markupKinds,
};

/** Options that set fields of the request, from the rows of the fields. */
const fieldOptions: Command['options'] = Object.fromEntries(
  speechFieldRows.flatMap(({ flag: row }) => {
    if (!row) return [];
    const { name, short, value, help } = row;
    const more = { ...(short && { short }), ...(choices[name] && { choices: choices[name] }) };
    return [[name, value ? option(value, help, more) : flag(help, short)]];
  }),
);

const options = {
  output: option('FILE', 'the sound file; - is standard output, the default when that is a pipe', { short: 'o' }),
  play: flag(`play it while it is made, with the first of these that is installed:\n${playerNames.join(', ')}`, 'p'),
  input: option('FILE', 'read the text from a file; - is standard input', { short: 'i' }),
  ssml: flag('the text is an SSML document'),
  ...fieldOptions,
  lexicon: option('ID', fieldOptions.lexicon!.help, { multiple: true }),
  json: flag('print a description of the result as JSON'),
};

/** The compiler does not know the names of the options that come from rows. */
type Flags = FlagsOf<typeof options> & {
  voice?: string;
  language?: string;
  format?: string;
  'sample-rate'?: string;
  'speaking-rate'?: string;
  timestamps?: boolean;
  markup?: string;
  'no-normalize'?: boolean;
  instructions?: string;
  seed?: string;
};

export const sayCommand: Command = {
  name: 'say',
  summary: 'speak a text aloud, into a file or a pipe',
  options,
  usage: () => `Usage: sonant say [TEXT] [-o FILE | --play] [options]

Speaks TEXT, or the file given with -i, or standard input.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const flags: Flags = values;
    const given = takeText(positionals, flags.input);
    const output = chooseOutput(flags);
    const format = output === undefined ? 'pcm' : chooseFormat(flags.format, output);
    const text = given ?? (await readText(flags.input, line.signal));
    const spoken = await withOpened(await line.openApp(), async ({ voices, speech, addLexicon }) => {
      for (const each of flags.lexicon ?? []) if (!isLexiconId(each)) addLexicon(await openLexiconFile(fileOf(each)));
      const request = await checkFlags(async () =>
        toRequest(flags, text, format, voicesFor(voices, { usesAllVoices: true })),
      );
      return withOpened(await openSink(output, request, line.signal), (sink) => {
        const events = speech.streamSpeech(request, { callerId: 'command line', usesAllVoices: true }, line.signal);
        return checkFlags(() => writeSound(events, sink));
      });
    });
    if (spoken.warnings.includes('nothing_spoken'))
      process.stderr.write('sonant: nothing in the text can be spoken; the sound is a short silence\n');
    const ignored = spoken.warnings.filter((warning) => warning.startsWith('ignored:'));
    if (ignored.length > 0)
      process.stderr.write(`sonant: has no effect here: ${ignored.map((each) => each.slice(8)).join(', ')}\n`);
    if (flags.json) line.print(JSON.stringify({ output: output ?? null, ...spoken }, null, 2));
    return 0;
  },
};

/** The output file, or `-`; undefined if the audio is played. */
function chooseOutput({ output, play, format, json, timestamps }: Flags): string | undefined {
  if (timestamps && !json) throw new UsageError('--timestamps are printed with --json');
  if (play && (output ?? format) !== undefined) throw new UsageError('--play takes neither --output nor --format');
  if (play) return undefined;
  const chosen = output ?? (process.stdout.isTTY ? undefined : '-');
  if (chosen === undefined) throw new UsageError('name a file for the sound: -o FILE, or let it be played: --play');
  if (json && chosen === '-') throw new UsageError('--json needs a file for the sound: -o FILE');
  return chosen;
}

async function openSink(output: string | undefined, request: SpeechRequest, signal: AbortSignal): Promise<AudioSink> {
  if (output === undefined) return openPlayer(request.sampleRateHz, signal);
  return output === '-' ? openStandardOutput(signal) : openAudioFile(output, signal);
}

/** Any other value of `--lexicon` is the path of a file. */
const isLexiconId = (given: string): boolean => /^lex_[0-9A-Z]+$/.test(given);

const flagOf = (field: string): string => {
  const row = speechFieldRows.find(({ json }) => json === field.replace(/\[.*/, ''));
  return row?.flag ? `--${row.flag.name}` : field;
};

/** Reports invalid fields of the request under the names of their flags. */
const checkFlags = <T>(check: () => Promise<T>): Promise<T> => withSpeechFlags(flagOf, check);

function toRequest(flags: Flags, text: string, format: FormatName, voices: Voices): SpeechRequest {
  const voiceId = flags.voice ?? chooseVoice(voices, flags.language);
  const own = voices.find(voiceId).voice.languageCodes[0];
  const toNumber = (given: string | undefined) => (given === undefined ? undefined : Number(given));
  const fields = {
    voice_id: voiceId,
    [flags.ssml ? 'ssml' : 'text']: text,
    markup: flags.markup,
    normalize: flags['no-normalize'] ? false : undefined,
    lexicon_ids: flags.lexicon,
    language_code: flags.language ?? own,
    output_format: format,
    sample_rate: toNumber(flags['sample-rate']),
    speaking_rate: toNumber(flags['speaking-rate']),
    instructions: flags.instructions,
    seed: toNumber(flags.seed),
    timestamps: flags.timestamps ? 'word' : undefined,
  };
  return parseSpeechRequest(fields, { limits: { charsMax: Infinity } });
}

/** The first voice that can speak; if a language is given, the first one that speaks it. */
function chooseVoice(voices: Voices, language: string | undefined): string {
  const code = language === undefined || language === autoLanguage ? undefined : toLanguageCode(language);
  const able = voices.list().filter(({ status, bindings }) => status === 'ready' && bindings.length > 0);
  const chosen = able.find(({ voice }) => code === undefined || isSpokenBy(voice, code));
  if (!chosen) throw new UsageError(`no voice here speaks ${language}; sonant voice list prints the languages`);
  return chosen.voice.voiceId;
}

/** Writes the audio while it is generated. Returns a description of it. */
async function writeSound(events: ReturnType<Speech['streamSpeech']>, sink: AudioSink) {
  const bar = createProgressBar(process.stderr);
  const timestamps: SpeechTimestamps[] = [];
  const marks: object[] = [];
  let info: SpeechInfo | undefined;
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
  const { voice, format, sampleRateHz, chars, warnings } = info!;
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
    ...(words.length > 0 && { words }),
    ...(marks.length > 0 && { marks }),
  };
}

function fileOf(lexicon: string): string {
  if (existsSync(lexicon)) return lexicon;
  throw new UsageError(
    `--lexicon ${lexicon}: there is no such file; sonant lexicon list tells the ids of those stored`,
  );
}
