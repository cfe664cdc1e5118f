// `sonant check FILE --text FILE`: prints where a recording does not say its text. A transcription server hears the
// recording.
import { decodeRecording } from '../../audio.ts';
import { toLanguageCode } from '../../platform/language-code.ts';
import { openTranscriber } from '../../speech.ts';
import { compareWords } from '../../text.ts';
import {
  type Command,
  formatTable,
  jsonFlag,
  onlyArgument,
  option,
  parseCommandArgs,
  readInput,
  UsageError,
} from './command.ts';

const options = {
  text: option('FILE', 'the text that the recording should say'),
  language: option('CODE', 'the language of the text; default: en-US'),
  names: option('A,B', 'names in the text, which a recognizer may write differently'),
  json: jsonFlag,
};

const usage = 'sonant check FILE --text FILE';
const recordingSecondsMax = 3600;

export const checkCommand: Command = {
  name: 'check',
  summary: 'print where a recording does not say its text',
  options,
  examples: ['sonant check letter.mp3 --text letter.txt', 'sonant check brief.wav --text brief.txt --language de-DE'],
  usage: () => `Usage: ${usage} [options]

Compares a recording (WAV, FLAC, MP3, Ogg Opus or Ogg Vorbis, up to an hour) with its text, and prints words that are
missing, added or replaced. Exits with 1 unless all of them were probably misheard. A server with OpenAI's
transcription API hears the recording: set SONANT_TRANSCRIPTION_URL.`,
  async run({ args, signal, loadConfig, print }) {
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const path = onlyArgument(positionals, usage);
    if (values.text === undefined) throw new UsageError(`name the text: ${usage}`);
    const given = values.language ?? 'en-US';
    const languageCode = toLanguageCode(given);
    if (languageCode === undefined) throw new UsageError(`--language ${given}: must be a code such as en-US`);
    const { transcriptionUrl: url, transcriptionApiKey: apiKey, transcriptionModel: model } = loadConfig();
    const transcribe = openTranscriber({ url, apiKey, model });
    if (!transcribe) throw new UsageError('set SONANT_TRANSCRIPTION_URL to a server with OpenAI’s transcription API');
    const [file, text] = await Promise.all([readInput(path), readInput(values.text)]);
    const recording = await decodeRecording(file, { secondsMax: recordingSecondsMax }).catch((error: Error) => {
      throw new UsageError(`${path} ${error.message}`);
    });
    const heard = await transcribe({ ...recording, languageCode }, signal);
    const names = values.names?.split(',') ?? [];
    const { words, differences, isSuspect } = compareWords(text.toString(), heard.text, { languageCode, names });
    const listed = differences.map((each) => ({ ...each, start: heard.starts.get(each.heardFrom) ?? null }));
    if (values.json)
      print(JSON.stringify({ suspect: isSuspect, words, heard: heard.text, differences: listed }, null, 2));
    else {
      const rows = listed.map(({ kind, expected, heard, from, start }) => {
        const time = start === null ? '' : `${start.toFixed(1)} s`;
        return [time, String(from), kind, expected || '-', heard || '-'];
      });
      print(describe(words, rows, isSuspect));
    }
    return isSuspect ? 1 : 0;
  },
};

function describe(words: number, rows: readonly string[][], isSuspect: boolean): string {
  if (rows.length === 0) return `The recording says all ${words} words of the text.`;
  const verdict = isSuspect ? 'Listen to these places.' : 'The recognizer has probably misheard these words.';
  return `${formatTable([['TIME', 'OFFSET', 'DIFFERENCE', 'TEXT', 'HEARD'], ...rows])}\n${verdict}`;
}
