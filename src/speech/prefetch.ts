// Starts the next segments of a request, up to a limit, while the current segment is read, and returns them in order. A
// segment starts only when the reader reads, so a reader that stops also stops the engine. For a slow reader (pace.ts),
// prefetched segments are dropped and spoken again later, because buffered audio is large.
import { type Pace, slowMs } from '../platform/pace.ts';
import type { CutSource } from './plan.ts';

/** A cut and its speech, which has started. */
export interface Begun<Cut, Piece> {
  cut: Cut;
  speech: AsyncIterator<Piece>;
}

interface PrefetchOptions<Cut, Piece> {
  /** Starts the speech of a cut. */
  speak(cut: Cut): AsyncIterator<Piece>;
  /** Maximum number of started cuts. */
  atOnce: number;
  pace?: Pace | undefined;
}

export class Prefetch<Cut, Piece> {
  readonly #cuts: CutSource<Cut>;
  readonly #speak: (cut: Cut) => AsyncIterator<Piece>;
  readonly #unwatch: (() => void) | undefined;
  /** The cut being read and those after it. Without speech, a cut has not started or was dropped. */
  readonly #queue: { cut: Cut; speech: AsyncIterator<Piece> | undefined }[] = [];
  #begunMax: number;
  #isReading = false;
  #isClosed = false;
  /** Set while a cut is awaited. */
  #awaited: Promise<void> | undefined;
  /** Set when the source has ended; contains `error` if the source failed. */
  #over: { error?: unknown } | undefined;

  constructor(cuts: CutSource<Cut>, { speak, atOnce, pace }: PrefetchOptions<Cut, Piece>) {
    this.#cuts = cuts;
    this.#speak = speak;
    this.#begunMax = atOnce;
    this.#unwatch = pace?.after(slowMs, () => this.#dropPrefetched());
  }

  /** The next cut, once the present one was read; undefined after the last one. */
  async next(): Promise<Begun<Cut, Piece> | undefined> {
    if (this.#isReading) this.#queue.shift();
    for (;;) {
      this.#fill();
      const [first] = this.#queue;
      this.#isReading = first !== undefined;
      if (first) {
        first.speech ??= this.#speak(first.cut);
        return { cut: first.cut, speech: first.speech };
      }
      if (this.#over && 'error' in this.#over) throw this.#over.error;
      if (this.#over) return undefined;
      await this.#awaited;
    }
  }

  /** Ends the source of cuts and all started speech. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
    for (const { speech } of this.#queue) end(speech);
    // The result is not awaited, because an asynchronous source first completes its pending cut.
    const ended = this.#cuts.return?.(undefined);
    if (ended instanceof Promise) ended.catch(() => {});
  }

  #dropPrefetched(): void {
    this.#begunMax = 1;
    for (const entry of this.#queue.slice(1)) {
      end(entry.speech);
      entry.speech = undefined;
    }
  }

  /** Pulls cuts while there is room, one at a time if the source is asynchronous. */
  #fill(): void {
    while (!this.#over && !this.#awaited && !this.#isClosed && this.#queue.length < this.#begunMax) {
      const next = this.#cuts.next();
      if (!('then' in next)) this.#add(next);
      else
        this.#awaited = next
          .then((result) => this.#add(result))
          .catch((error: unknown) => {
            this.#over = { error };
          })
          .then(() => {
            this.#awaited = undefined;
            this.#fill();
          });
    }
  }

  #add({ done, value }: IteratorResult<Cut, undefined>): void {
    if (done) this.#over = {};
    else if (!this.#isClosed) this.#queue.push({ cut: value, speech: this.#speak(value) });
  }
}

const end = (speech: AsyncIterator<unknown> | undefined): void => void speech?.return?.()?.catch(() => {});
