// A worker thread that runs flite. It speaks one segment at a time, one part per run, and sends the audio and word
// times of each utterance. A run that traps is repeated once in a new instance, unless some of its audio was sent.
import { secondsOf } from '../../platform/pcm.ts';
import { serveTasks, type TaskControl } from '../../platform/runtime/host-child.ts';
import type { WasmModule } from '../../platform/web-assembly.ts';
import type { SpokenPcm, WordTime } from '../engine.ts';
import { toPhoneNames } from './flite-phones.ts';
import { FliteProgram } from './flite-program.ts';
import { type SpokenToken, toFliteText } from './flite-text.ts';
import { type ExpectedWord, parsePhones, timeWords } from './word-times.ts';

export interface FliteThreadData {
  module: WasmModule;
}

/** A segment that is prepared for flite. */
export interface FliteTask {
  args: readonly string[];
  parts: readonly (readonly SpokenToken[])[];
  timings: boolean;
}

/** Sample rate of the voices in flite.ts. The voice that flite uses for any unknown name has another sample rate. */
const sampleRateHz = 16_000;
/** Audio is sent in pieces of this length, so that memory is freed as the pieces are read. */
const pieceSecondsMax = 1;
const knownWordsMax = 4096;
const phonesArgs = ['-voice', 'kal16', '--setf', 'duration_stretch=0.2', '-ps'];
const silence = 'pau';

class Cancelled extends Error {}

serveTasks<FliteThreadData, FliteTask, SpokenPcm>(({ module }) => {
  const program = new FliteProgram(module);
  const wordPhones = createWordPhones(program);
  // The first run creates the instance and compiles its code.
  program.run({ args: ['-voice', 'rms'], text: 'Oh.' });

  return ({ args, parts, timings }, control) => {
    let seconds = 0;
    for (const part of parts) {
      const startSeconds = seconds;
      const words = timings ? toExpectedWords(part, wordPhones) : undefined;
      const own = part.some(({ phones: stated }) => stated) ? ['-ssml'] : [];
      const run = { args: [...args, ...own, ...(words ? ['-psdur'] : [])], text: toFliteText(part) };
      const speak = () => {
        let wordsLeft = words ?? [];
        let times: WordTime[] = [];
        program.run({
          ...run,
          onLine(line) {
            times = timeWords(wordsLeft, parsePhones(line));
            wordsLeft = wordsLeft.slice(times.length);
          },
          onSound(samples, spokenRateHz) {
            if (control.isCancelled()) throw new Cancelled();
            if (spokenRateHz !== sampleRateHz) throw new Error('flite spoke with another voice');
            const pcm = { samples, sampleRateHz };
            const length = secondsOf(pcm);
            sendPieces(words ? { ...pcm, words: toSegmentTimes(times, seconds, length) } : pcm, control);
            seconds += length;
          },
        });
      };
      try {
        speak();
      } catch (error) {
        if (error instanceof Cancelled || seconds > startSeconds) throw error;
        speak();
      }
      if (seconds === startSeconds) throw new Error('flite generated no audio for text with letters or digits');
    }
  };
});

/** Converts word times of an utterance, which begins at `startSeconds`, to times in the segment. */
const toSegmentTimes = (times: readonly WordTime[], startSeconds: number, lengthSeconds: number): WordTime[] =>
  times.map((word) => ({
    ...word,
    startSeconds: startSeconds + word.startSeconds,
    endSeconds: startSeconds + Math.min(word.endSeconds, lengthSeconds),
  }));

function toExpectedWords(part: readonly SpokenToken[], wordPhones: WordPhones): ExpectedWord[] {
  const phones = wordPhones(part.map(({ spoken }) => spoken));
  return part.map((token, n) => ({ ...token, phones: token.phones ? toPhoneNames(token.phones) : phones[n]! }));
}

function sendPieces({ samples, words }: SpokenPcm, control: TaskControl<SpokenPcm>): void {
  const pieces: SpokenPcm[] = [];
  for (let at = 0; at < samples.length; at += pieceSecondsMax * sampleRateHz) {
    pieces.push({ samples: samples.slice(at, at + pieceSecondsMax * sampleRateHz), sampleRateHz });
  }
  if (words && pieces[0]) pieces[0].words = words;
  control.send(
    pieces,
    pieces.map((piece) => piece.samples.buffer as ArrayBuffer),
  );
}

type WordPhones = ReturnType<typeof createWordPhones>;

/**
 * Returns a function that finds the phones of words when they are spoken alone, at least one per word. They are needed
 * to find the words in the audio. One run of flite, with the fastest voice and speed, lists the phones of all new words.
 * Each word is a paragraph, so it has its own line of output. Words are cached.
 */
function createWordPhones(program: FliteProgram) {
  const known = new Map<string, readonly string[]>();
  const phonesOf = (words: readonly string[]): readonly (readonly string[])[] => {
    if (words.length === 0) return [];
    const lines: string[] = [];
    program.run({ args: phonesArgs, text: words.join('\n\n'), onLine: (line) => lines.push(line) });
    // If the lines do not match the words, letters stand in for phones, since only the number of phones matters then.
    if (lines.length !== words.length) return words.map((word) => [...word]);
    return lines.map((line, n) => {
      const phones = line.split(' ').filter((phone) => phone !== silence && phone !== '');
      return phones.length > 0 ? phones : [...words[n]!];
    });
  };
  return (spoken: readonly string[]): (readonly string[])[] => {
    if (known.size > knownWordsMax) known.clear();
    const words = spoken.map(toBareWord);
    const unknown = [...new Set(words)].filter((word) => !known.has(word));
    for (const [n, phones] of phonesOf(unknown).entries()) known.set(unknown[n]!, phones);
    return words.map((word) => known.get(word)!);
  };
}

/** Removes marks at the edges of a word, and inner marks that would end an utterance. */
const toBareWord = (spoken: string): string =>
  spoken
    .replace(/[^a-z0-9]+(?= |$)/gi, '')
    .replace(/^[^a-z0-9$]+/i, '')
    .replace(/ +/g, ' ');
