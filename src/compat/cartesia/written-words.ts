// The words of timestamps as Cartesia tells them: with the punctuation that is written at them, since clients join these words
// to the transcript of what was heard. Each character is told once.
import type { TimedWord } from '../../speech/word-timing.ts';

interface TurnText {
  /** What was not told yet. */
  rest: string;
  /** How many code points were told. */
  toldChars: number;
}

export class WrittenWords {
  /** The turns that are not over, by number. */
  readonly #turns = new Map<number, TurnText>();

  addText(turn: number, text: string): void {
    const known = this.#turns.get(turn) ?? { rest: '', toldChars: 0 };
    known.rest += text;
    this.#turns.set(turn, known);
  }

  takeWords(turn: number, words: readonly TimedWord[]): string[] {
    const text = this.#turns.get(turn);
    if (!text) return words.map((word) => word.text);
    const chars = [...text.rest];
    let told = 0;
    const written = words.map(({ offset, length, text: word }) => {
      const start = Math.max(told, offset - text.toldChars);
      const end = Math.max(start, offset - text.toldChars + length);
      let from = start;
      while (from > told && !isSpace(chars[from - 1]!)) from--;
      let to = end;
      while (to < chars.length && isPunctuation(chars[to]!)) to++;
      told = to;
      return chars.slice(from, to).join('') || word;
    });
    text.rest = chars.slice(told).join('');
    text.toldChars += told;
    return written;
  }

  endTurn(turn: number): void {
    this.#turns.delete(turn);
  }
}

const isSpace = (char: string) => /\s/.test(char);
const isPunctuation = (char: string) => /[^\p{L}\p{N}\s]/u.test(char);
