// One request to a model's process: what has come of its sound, until it ends, and its reader.
import type { SpokenPcm } from '../engine.ts';

export class ModelJob {
  readonly id: number;
  /** Fulfilled when nothing is at work on it any more. */
  readonly settled: Promise<void>;
  readonly #settle: () => void;
  readonly #pieces: SpokenPcm[] = [];
  #isDone = false;
  #fault: unknown;
  #news = Promise.withResolvers<void>();

  constructor(id: number) {
    this.id = id;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.settled = promise;
    this.#settle = resolve;
  }

  add(piece: SpokenPcm): void {
    this.#pieces.push(piece);
    this.#news.resolve();
  }

  end(fault?: unknown): void {
    this.#isDone = true;
    this.#fault = fault;
    this.#settle();
    this.#news.resolve();
  }

  /** The sound as it comes; throws the fault it ended with, or the signal's reason, at once. */
  async *pieces(signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const wake = () => this.#news.resolve();
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (true) {
        signal.throwIfAborted();
        const piece = this.#pieces.shift();
        if (piece) yield piece;
        else if (this.#isDone) break;
        else {
          await this.#news.promise;
          this.#news = Promise.withResolvers();
        }
      }
      if (this.#fault) throw this.#fault;
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }
}
