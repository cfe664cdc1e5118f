// Converts events of live speech to Cartesia's messages. Word times use one clock for all turns of a context; flushes
// are numbered from 1.
import type { LiveEvent } from '../../../api.ts';
import { encodeSilence } from '../../../audio.ts';
import type { TimedWord } from '../../../speech.ts';
import { withoutVendorTags } from '../../../text.ts';
import { emptyContextSeconds } from '../speech-contexts.ts';
import type { Generation } from './request.ts';

export type CartesiaMessage = Readonly<Record<string, unknown>> & { type: string };

const statusOk = 200;
const statusPartial = 206;

/** `wasFlushed` returns whether a turn ended because the client requested it. */
export function createEventWriter({ start }: Generation, wasFlushed: (turn: number) => boolean = () => false) {
  const startedMs = performance.now();
  const written = new WrittenWords();
  let hasSound = false;
  let secondsBefore = 0;
  const chunk = (audio: Uint8Array, turn: number): CartesiaMessage => {
    hasSound = true;
    const data = Buffer.from(audio).toString('base64');
    const step_time = Math.round(performance.now() - startedMs);
    return { type: 'chunk', data, done: false, status_code: statusPartial, step_time, flush_id: turn + 1 };
  };
  return {
    addText: (turn: number, text: string) => written.addText(turn, text),
    async *write(event: LiveEvent): AsyncGenerator<CartesiaMessage> {
      switch (event.type) {
        case 'audio':
          yield chunk(event.audio, event.turn);
          break;
        case 'timestamps': {
          const words = written.takeWords(event.turn, event.words);
          const at = (seconds: number) => Math.round((secondsBefore + seconds) * 1000) / 1000;
          const begin = event.words.map(({ startSeconds }) => at(startSeconds));
          const end = event.words.map(({ endSeconds }) => at(endSeconds));
          const word_timestamps = { words, start: begin, end };
          yield {
            type: 'timestamps',
            word_timestamps,
            done: false,
            status_code: statusPartial,
            flush_id: event.turn + 1,
          };
          break;
        }
        case 'flushed':
          secondsBefore += event.seconds;
          written.endTurn(event.turn);
          if (!wasFlushed(event.turn)) break;
          yield {
            type: 'flush_done',
            flush_done: true,
            flush_id: event.turn + 1,
            done: false,
            status_code: statusPartial,
          };
          break;
        case 'done':
          if (!hasSound) yield chunk(await encodeSilence(start.format, start.sampleRateHz, emptyContextSeconds), 0);
      }
    },
  };
}

export const doneMessage: CartesiaMessage = { type: 'done', done: true, status_code: statusOk };

interface TurnText {
  /** Text that has not been reported yet. */
  rest: string;
  /** Number of code points that have been reported. */
  toldChars: number;
}

class WrittenWords {
  /** Unfinished turns by number. */
  readonly #turns = new Map<number, TurnText>();

  addText(turn: number, text: string): void {
    const known = this.#turns.get(turn) ?? { rest: '', toldChars: 0 };
    known.rest += text;
    this.#turns.set(turn, known);
  }

  takeWords(turn: number, words: readonly TimedWord[]): string[] {
    const text = this.#turns.get(turn);
    if (!text) return words.map((word) => word.text);
    const chars = withoutVendorTags(text.rest);
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
    text.rest = [...text.rest].slice(told).join('');
    text.toldChars += told;
    return written;
  }

  endTurn(turn: number): void {
    this.#turns.delete(turn);
  }
}

const isSpace = (char: string) => /\s/.test(char);
const isPunctuation = (char: string) => !/[\p{L}\p{N}\s]/u.test(char);
