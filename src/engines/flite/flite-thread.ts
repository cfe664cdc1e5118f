// What runs in a thread of flite: it speaks one segment at a time, in one run of flite for each part, and sends the
// sound of each utterance as it is made, with the times of its words. A run that traps is repeated once in a fresh
// instance, unless some of its sound was sent.
import { secondsOf } from '../../audio/pcm.ts';
import { serveTasks, type TaskControl } from '../../runtime/host-child.ts';
import type { SpokenPcm, WordTime } from '../engine.ts';
import { toPhoneNames } from './flite-phones.ts';
import { FliteProgram } from './flite-program.ts';
import { type SpokenToken, toFliteText } from './flite-text.ts';
import type { WasmModule } from './wasi.ts';

export interface FliteThreadData {
  module: WasmModule;
  /** Imported voices, by the path that `-voice` names. */
  voiceFiles: ReadonlyMap<string, Uint8Array>;
}

/** A segment, ready to be spoken. */
export interface FliteTask {
  args: readonly string[];
  /** The voice's own; undefined while it is not known yet. */
  sampleRateHz: number | undefined;
  parts: readonly (readonly SpokenToken[])[];
  timings: boolean;
}

/** Pieces are cut to this, so that memory is freed as they are read. */
const pieceSecondsMax = 1;
const knownWordsMax = 4096;
const phonesArgs = ['-voice', 'kal16', '--setf', 'duration_stretch=0.2', '-ps'];
const silence = 'pau';

class Cancelled extends Error {}

serveTasks<FliteThreadData, FliteTask, SpokenPcm>(({ module, voiceFiles: files }) => {
  const program = new FliteProgram(module);
  const wordPhones = new WordPhones(program);
  // The first run creates the instance and compiles its code.
  program.run({ args: ['-voice', 'rms'], text: 'Oh.' });

  return ({ args, sampleRateHz, parts, timings }, control) => {
    let seconds = 0;
    for (const part of parts) {
      const startSeconds = seconds;
      const words = timings ? toExpectedWords(part, wordPhones) : undefined;
      const own = part.some(({ phones: stated }) => stated) ? ['-ssml'] : [];
      const run = { args: [...args, ...own, ...(words ? ['-psdur'] : [])], text: toFliteText(part), files };
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
            if (spokenRateHz !== (sampleRateHz ?? spokenRateHz)) throw new Error('flite spoke with another voice');
            const pcm = { samples, sampleRateHz: spokenRateHz };
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
      if (seconds === startSeconds) throw new Error('flite made no sound of text that has letters or digits in it');
    }
  };
});

/** The times in the segment of words in an utterance, which begins so many seconds into it and is so many long. */
const toSegmentTimes = (times: readonly WordTime[], startSeconds: number, lengthSeconds: number): WordTime[] =>
  times.map((word) => ({
    ...word,
    startSeconds: startSeconds + word.startSeconds,
    endSeconds: startSeconds + Math.min(word.endSeconds, lengthSeconds),
  }));

function toExpectedWords(part: readonly SpokenToken[], wordPhones: WordPhones): ExpectedWord[] {
  const phones = wordPhones.of(part.map(({ spoken }) => spoken));
  return part.map((token, n) => ({ ...token, phones: token.phones ? toPhoneNames(token.phones) : phones[n]! }));
}

function sendPieces({ samples, sampleRateHz, words }: SpokenPcm, control: TaskControl<SpokenPcm>): void {
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

/**
 * The phones of words spoken alone, by which words are found in the sound. flite lists them: one run for all new words, each in
 * a paragraph and so in a line of its own, with the fastest voice at the highest speed. The most recent words are cached.
 */
class WordPhones {
  readonly #program: FliteProgram;
  /** The least recently used comes first. */
  readonly #known = new Map<string, readonly string[]>();

  constructor(program: FliteProgram) {
    this.#program = program;
  }

  /** For each of what is spoken, its phones: at least one. */
  of(spoken: readonly string[]): (readonly string[])[] {
    const words = spoken.map(toBareWord);
    const unknown = [...new Set(words)].filter((word) => !this.#known.has(word));
    for (const [n, phones] of this.#phonesOf(unknown).entries()) this.#known.set(unknown[n]!, phones);
    const answer = words.map((word) => this.#recall(word));
    for (const word of [...this.#known.keys()].slice(0, Math.max(0, this.#known.size - knownWordsMax))) {
      this.#known.delete(word);
    }
    return answer;
  }

  #recall(word: string): readonly string[] {
    const phones = this.#known.get(word)!;
    this.#known.delete(word);
    this.#known.set(word, phones);
    return phones;
  }

  #phonesOf(words: readonly string[]): (readonly string[])[] {
    if (words.length === 0) return [];
    const lines: string[] = [];
    this.#program.run({ args: phonesArgs, text: words.join('\n\n'), onLine: (line) => lines.push(line) });
    // Where lines and words do not pair, letters stand in for phones: only their number counts then.
    if (lines.length !== words.length) return words.map((word) => [...word]);
    return lines.map((line, n) => {
      const phones = line.split(' ').filter((phone) => phone !== silence && phone !== '');
      return phones.length > 0 ? phones : [...words[n]!];
    });
  }
}

/** Without marks at its edges, or within where they would end an utterance. */
const toBareWord = (spoken: string): string =>
  spoken
    .replace(/[^a-z0-9]+(?= |$)/gi, '')
    .replace(/^[^a-z0-9$]+/i, '')
    .replace(/ +/g, ' ');

interface Phone {
  name: string;
  startSeconds: number;
  endSeconds: number;
}

/** What is spoken for a stretch of text, and its phones when said alone. */
interface ExpectedWord extends Omit<SpokenToken, 'phones'> {
  phones: readonly string[];
}

/** flite ends utterances at these, and nowhere else. */
const utteranceEnd = /[.:?!]['")]*$/;
const gapCost = 1;
const changeCost = 0.9;

/** The phones in a line of `-psdur`, pauses left out. */
export function parsePhones(line: string): Phone[] {
  let startSeconds = 0;
  return line
    .split(' ')
    .map((entry) => {
      const colon = entry.lastIndexOf(':');
      const phone = { name: entry.slice(0, colon), startSeconds, endSeconds: Number(entry.slice(colon + 1)) };
      startSeconds = phone.endSeconds;
      return phone;
    })
    .filter(({ name }) => name !== silence);
}

/** The times of the words in an utterance, the first of `words` and so many of them as it has. */
export function timeWords(words: readonly ExpectedWord[], heard: readonly Phone[]): WordTime[] {
  if (words.length === 0 || heard.length === 0) return [];
  const expected = words.flatMap(({ phones }, word) => phones.map((name) => ({ name, word })));
  const costs = alignmentCosts(expected, heard);
  const count = wordCountOf(words, costs, heard.length);
  const ends = phoneEnds(expected, costs, heard, words.slice(0, count));
  return toTimes(words.slice(0, count), ends, heard);
}

interface ExpectedPhone {
  name: string;
  word: number;
}

/** costs[i][j]: the least cost of laying the first j phones heard along the first i expected. */
function alignmentCosts(expected: readonly ExpectedPhone[], heard: readonly Phone[]): number[][] {
  const costs = [heard.map((_, j) => j * gapCost).concat(heard.length * gapCost)];
  for (const [i, { name }] of expected.entries()) {
    const above = costs[i]!;
    const row = [(i + 1) * gapCost];
    for (const [j, phone] of heard.entries()) {
      const change = above[j]! + (phone.name === name ? 0 : changeCost);
      row.push(Math.min(change, above[j + 1]! + gapCost, row[j]! + gapCost));
    }
    costs.push(row);
  }
  return costs;
}

/** How many words the utterance has. */
function wordCountOf(words: readonly ExpectedWord[], costs: readonly number[][], heardCount: number): number {
  let phoneCount = 0;
  let best = { count: words.length, cost: Number.POSITIVE_INFINITY };
  for (const [index, { spoken, phones }] of words.entries()) {
    phoneCount += phones.length;
    const mayEnd = index === words.length - 1 || utteranceEnd.test(spoken);
    const cost = costs[phoneCount]![heardCount]!;
    if (mayEnd && cost < best.cost) best = { count: index + 1, cost };
  }
  return best.count;
}

/** For each word, how many of the phones heard lie before its end. */
function phoneEnds(
  expected: readonly ExpectedPhone[],
  costs: readonly number[][],
  heard: readonly Phone[],
  words: readonly ExpectedWord[],
): number[] {
  const ends: number[] = Array(words.length).fill(0);
  let i = words.reduce((sum, { phones }) => sum + phones.length, 0);
  let j = heard.length;
  // What is heard after the last expected phone, or before the first, belongs to the word there.
  ends[words.length - 1] = j;
  while (i > 0 && j > 0) {
    const { name, word } = expected[i - 1]!;
    ends[word] = Math.max(ends[word]!, j);
    const change = costs[i - 1]![j - 1]! + (heard[j - 1]!.name === name ? 0 : changeCost);
    if (costs[i]![j] === change) {
      i--;
      j--;
    } else if (costs[i]![j] === costs[i - 1]![j]! + gapCost) i--;
    else j--;
  }
  return ends;
}

/** A word to which no phones fell shares the time of the one before it, or at the beginning of the one after. */
function toTimes(words: readonly ExpectedWord[], ends: readonly number[], heard: readonly Phone[]): WordTime[] {
  const times: WordTime[] = [];
  let heardFrom = 0;
  while (times.length < words.length) {
    let last = times.length;
    while (ends[last]! <= heardFrom) last++;
    while (ends[last + 1] === ends[last]) last++;
    const sharing = words.slice(times.length, last + 1);
    const start = heard[heardFrom]!.startSeconds;
    const share = (heard[ends[last]! - 1]!.endSeconds - start) / sharing.length;
    for (const [n, { from, to }] of sharing.entries()) {
      times.push({ from, to, startSeconds: start + n * share, endSeconds: start + (n + 1) * share });
    }
    heardFrom = ends[last]!;
  }
  return times;
}
