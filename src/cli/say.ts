// `sonant say`: speaks a text, as long as a book if need be, from an argument, a file or standard input, into a file, a pipe or a player.
// The format comes from a flag or the extension of the file.
import { existsSync } from 'node:fs';
import { type FormatName, formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import { speechFieldRows } from '../speech/fields.ts';
import { parseSpeechRequest, type SpeechRequest } from '../speech/request.ts';
import type { SpeechInfo, SpeechTimestamps } from '../speech/speech-events.ts';
import type { Speech } from '../speech/synthesize.ts';
import { type Voices, voicesFor } from '../speech/voice.ts';
import { markupKinds } from '../text/read-markup.ts';
import { type AudioSink, openAudioFile, openStandardOutput } from './audio-sink.ts';
import { chooseFormat } from './chosen-format.ts';
import { chooseVoice } from './chosen-voice.ts';
import { type Command, type FlagsOf, parseCommandArgs, UsageError, withOpened, withSpeechFlags } from './command.ts';
import { openLexiconFile } from './lexicon-file.ts';
import { openPlayer, playerNames } from './player.ts';
import { createProgressBar } from './progress-bar.ts';
import { readText, takeText } from './text-input.ts';

/** The flags of the request's own fields, read off their rows. */
const fieldFlags = Object.fromEntries(
  speechFieldRows.flatMap(({ flag }) =>
    flag ? [[flag.name, { type: flag.value ? 'string' : 'boolean', ...(flag.short && { short: flag.short }) }]] : [],
  ),
) as Readonly<Record<string, { type: 'string' | 'boolean'; short?: string }>>;

const options = {
  output: { type: 'string', short: 'o' },
  play: { type: 'boolean', short: 'p' },
  input: { type: 'string', short: 'i' },
  ssml: { type: 'boolean' },
  ...fieldFlags,
  lexicon: { type: 'string', multiple: true },
  json: { type: 'boolean' },
} as const;

const fieldHelp = speechFieldRows
  .flatMap(({ flag }) => (flag ? [flag] : []))
  .map(({ name, short, value, help }) => {
    const names = `${short ? `-${short}, ` : '    '}--${name}${value ? ` ${value}` : ''}`;
    return `  ${names.padEnd(24)} ${help}`;
  })
  .join('\n');

/** Those of the fields have their names from rows. */
type Flags = FlagsOf<typeof options> & {
  voice?: string;
  language?: string;
  format?: string;
  'sample-rate'?: string;
  'speaking-rate'?: string;
  timestamps?: boolean;
  markup?: string;
  'no-normalize'?: boolean;
};

export const sayCommand: Command = {
  name: 'say',
  summary: 'speak a text aloud, into a file or a pipe',
  options,
  choices: {
    format: formatNames,
    'sample-rate': outputSampleRatesHz.map(String),
    markup: markupKinds,
  },
  help: () => `Usage: sonant say [TEXT] [-o FILE | --play] [options]

Speaks TEXT, or the file given with -i, or standard input.

  -o, --output FILE        the sound file; - is standard output, the default when that is a pipe
  -p, --play               play it while it is made, with the first of these that is installed:
                           ${playerNames.join(', ')}
  -i, --input FILE         read the text from a file; - is standard input
      --ssml               the text is an SSML document
${fieldHelp}
      --json               print a description of the result as JSON
`,
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

/** The output file, or `-`; undefined if the sound is played. */
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

/** Anything else is the path of a file. */
const isLexiconId = (given: string): boolean => /^lex_[0-9A-Z]+$/.test(given);

const flagOf = (field: string): string => {
  const flag = speechFieldRows.find(({ json }) => json === field.replace(/\[.*/, ''))?.flag;
  return flag ? `--${flag.name}` : field;
};

/** Reports faults of a request under the names of the flags that it was made from. */
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
    timestamps: flags.timestamps ? 'word' : undefined,
  };
  return parseSpeechRequest(fields, { limits: { charsMax: Infinity } });
}

/** Writes the sound as it is made; returns a description of it. */
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
