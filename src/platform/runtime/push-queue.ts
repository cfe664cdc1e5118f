// A queue with one producer and one consumer. After the last item, the queue ends or throws its error. Items pushed
// after the end are dropped. If the consumer stops reading, the queue ends.
import { onAbort } from './abort.ts';

export class PushQueue<Item> {
  readonly #items: Item[] = [];
  #ended: { error?: unknown } | undefined;
  #wake = () => {};

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  push(...items: Item[]): void {
    if (!this.#ended) this.#items.push(...items);
    this.#wake();
  }

  end(): void {
    this.#ended ??= {};
    this.#wake();
  }

  /** Ends the queue with an error, which the consumer receives after all earlier items. */
  fail(error: unknown): void {
    this.#ended ??= { error };
    this.#wake();
  }

  /** Ends the queue at once. The consumer receives the error instead of the remaining items. */
  abort(error: unknown): void {
    this.#items.length = 0;
    this.#ended = { error };
    this.#wake();
  }

  /** Ends the queue at once and drops the remaining items. */
  discard(): void {
    this.#items.length = 0;
    this.end();
  }

  /** Yields the items. Throws the signal's reason as soon as the signal aborts. */
  async *pull(signal?: AbortSignal): AsyncGenerator<Item> {
    using _ = onAbort(signal, () => this.abort(signal?.reason));
    try {
      for (;;) {
        const item = this.#items.shift();
        if (item !== undefined) yield item;
        else if (!this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
        else if ('error' in this.#ended) throw this.#ended.error;
        else return;
      }
    } finally {
      this.discard();
    }
  }
}
