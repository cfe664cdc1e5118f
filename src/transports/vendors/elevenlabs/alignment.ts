// Character times for a text. Each character is reported once, in order, as soon as its word has been timed.
// Time is divided evenly within a word; characters between two words get the time in between. The last character of a
// turn ends with the audio of the turn, because clients add up these ends to the length of the audio.
import type { TimedWord } from '../../../speech.ts';

export interface TimedChar {
  /** A code point. */
  char: string;
  startMs: number;
  endMs: number;
}

interface TurnText {
  chars: string[];
  told: number;
  /** First half of a surrogate pair; the second half arrives with the next text. */
  half: string;
}

export class CharacterTimes {
  /** Unfinished turns by number. */
  readonly #turns = new Map<number, TurnText>();
  #secondsBefore = 0;
  /** End of the last reported character. */
  #lastMs = 0;
  /** The last character, if it waits for its end. */
  #held: TimedChar[] = [];
  readonly #holdsLast: boolean;

  /** `holdsLast` states whether the last character is reported only when more words are timed, or the turn ends. */
  constructor({ holdsLast }: { holdsLast: boolean }) {
    this.#holdsLast = holdsLast;
  }

  addText(turn: number, text: string): void {
    const known = this.#turns.get(turn) ?? { chars: [], told: 0, half: '' };
    const joined = known.half + text;
    known.half = /[\uD800-\uDBFF]$/.exec(joined)?.[0] ?? '';
    for (const char of joined.slice(0, joined.length - known.half.length)) known.chars.push(char);
    this.#turns.set(turn, known);
  }

  /** Returns the characters up to the end of these words, including punctuation and spaces after them. */
  takeWords(turn: number, words: readonly Omit<TimedWord, 'text'>[]): TimedChar[] {
    const text = this.#turns.get(turn);
    if (!text) return [];
    const timed = this.#held.splice(0);
    for (const { offset, length, startSeconds, endSeconds } of words) {
      timed.push(...this.#advance(text, offset, this.#toMs(startSeconds)));
      timed.push(...this.#advance(text, offset + length, this.#toMs(endSeconds)));
    }
    timed.push(...this.#advance(text, endOfGap(text), this.#lastMs));
    if (this.#holdsLast) this.#held = timed.splice(-1);
    return timed;
  }

  /** Returns the remaining characters of a turn that has ended, and the end of its audio. */
  endTurn(turn: number, seconds: number): { rest: TimedChar[]; endMs: number } {
    const text = this.#turns.get(turn);
    this.#turns.delete(turn);
    const rest = [...this.#held.splice(0), ...(text ? this.#advance(text, text.chars.length, this.#lastMs) : [])];
    this.#secondsBefore += seconds;
    const endMs = Math.max(this.#lastMs, this.#toMs(0));
    const last = rest.at(-1);
    if (last) last.endMs = this.#lastMs = endMs;
    return { rest, endMs };
  }

  #toMs(seconds: number): number {
    return Math.round((this.#secondsBefore + seconds) * 1000);
  }

  #advance(text: TurnText, to: number, untilMs: number): TimedChar[] {
    const from = this.#lastMs;
    const until = Math.max(from, untilMs);
    const chars = text.chars.slice(text.told, to);
    text.told = Math.max(text.told, to);
    this.#lastMs = until;
    const at = (i: number) => Math.round(from + ((until - from) * i) / chars.length);
    return chars.map((char, i) => ({ char, startMs: at(i), endMs: at(i + 1) }));
  }
}

/** Index after the punctuation and white space that follow the reported text. */
function endOfGap({ chars, told }: TurnText): number {
  const follows = /^[^\p{L}\p{N}\s]*\s*/u.exec(chars.slice(told, told + gapCharsMax).join(''))?.[0] ?? '';
  return told + [...follows].length;
}

const gapCharsMax = 64;

export interface Alignment {
  chars: string[];
  charStartTimesMs: number[];
  charDurationsMs: number[];
}

/**
 * Divides characters among messages. If times count from the previous message, a message ends with a space, because
 * clients advance their clock when a message completes a word.
 */
export class AlignmentMessages {
  readonly #isAbsolute: boolean;
  #pending: TimedChar[] = [];
  #beforeMs = 0;

  constructor(isAbsolute: boolean) {
    this.#isAbsolute = isAbsolute;
  }

  /** Adds characters. `turnEndMs` is the end of the turn, if it has ended. Returns the next message, if there is one. */
  put(timed: readonly TimedChar[], turnEndMs?: number): Alignment | undefined {
    this.#pending.push(...timed);
    const last = this.#pending.at(-1);
    if (this.#isAbsolute) return this.#take(this.#pending.length);
    // For clients that count from the previous message, a word is complete when a space follows it.
    if (turnEndMs !== undefined && last && last.char !== ' ')
      this.#pending.push({ char: ' ', startMs: last.endMs, endMs: turnEndMs });
    const count = this.#pending.findLastIndex(({ char }) => char === ' ') + 1;
    return this.#pending.slice(0, count).some(({ char }) => char !== ' ') ? this.#take(count) : undefined;
  }

  #take(count: number): Alignment | undefined {
    const taken = this.#pending.slice(0, count);
    if (taken.length === 0) return undefined;
    this.#pending = this.#pending.slice(count);
    const before = this.#isAbsolute ? 0 : this.#beforeMs;
    this.#beforeMs = taken.at(-1)!.endMs;
    return {
      chars: taken.map(({ char }) => char),
      charStartTimesMs: taken.map(({ startMs }) => startMs - before),
      charDurationsMs: taken.map(({ startMs, endMs }) => endMs - startMs),
    };
  }
}

/**
 * Divides audio and characters among messages, of which each contains the characters that are spoken in its audio, with
 * times from its start. Some clients add up the lengths of the audio, others those of the characters; both are equal.
 */
export class PairedMessages {
  /** Audio whose characters are not known yet. */
  readonly held: Uint8Array[] = [];
  readonly #msPerByte: number;
  #pending: TimedChar[] = [];
  #sentBytes = 0;
  #lastChar = ' ';

  constructor(msPerByte: number) {
    this.#msPerByte = msPerByte;
  }

  /** Adds characters, whose audio is held. `turnEndMs` is the end of the turn, if it has ended. */
  *put(timed: readonly TimedChar[], turnEndMs?: number): Generator<{ audio: Uint8Array; alignment: Alignment }> {
    this.#pending.push(...timed);
    if (turnEndMs !== undefined && (this.#pending.at(-1)?.char ?? this.#lastChar) !== ' ')
      this.#pending.push({ char: ' ', startMs: turnEndMs, endMs: turnEndMs });
    if (this.#pending.length === 0) return;
    const toMs = (bytes: number) => Math.round(bytes * this.#msPerByte);
    const pieces = this.held.splice(0);
    let audio = Buffer.alloc(0);
    for (const [i, piece] of pieces.entries()) {
      audio = Buffer.concat([audio, piece]);
      const startMs = toMs(this.#sentBytes);
      const endMs = toMs(this.#sentBytes + audio.length);
      const isLast = i === pieces.length - 1;
      const count = isLast ? this.#pending.length : this.#pending.findLastIndex((char) => char.startMs < endMs) + 1;
      const chars = this.#pending.splice(0, count);
      // A pause is a space. A piece in the middle of a word is sent with the next one.
      if (chars.length === 0 && this.#lastChar === ' ') chars.push({ char: ' ', startMs, endMs });
      if (chars.length === 0) continue;
      this.#lastChar = chars.at(-1)!.char;
      this.#sentBytes += audio.length;
      yield { audio, alignment: toAlignment(chars, startMs, endMs) };
      audio = Buffer.alloc(0);
    }
    if (audio.length > 0) this.held.push(audio);
  }
}

/** Times of the characters of a message, which fill the time from its start to its end. */
function toAlignment(chars: readonly TimedChar[], fromMs: number, toMs: number): Alignment {
  const starts = chars.map(({ startMs }) => Math.min(Math.max(startMs, fromMs), toMs) - fromMs);
  return {
    chars: chars.map(({ char }) => char),
    charStartTimesMs: starts,
    charDurationsMs: starts.map((start, i) => (starts[i + 1] ?? toMs - fromMs) - start),
  };
}
