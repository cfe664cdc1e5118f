// A queue from one pusher to one puller. Items are pulled in the order they were pushed, each as soon as it is there; then
// the queue ends, or the error is thrown that it ended with. Nothing that is pushed after the end is pulled or kept; a puller
// that leaves ends the queue.
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

  /** Ends the queue with an error, thrown when everything pushed before has been pulled. */
  fail(error: unknown): void {
    this.#ended ??= { error };
    this.#wake();
  }

  /** Ends the queue at once: the error is thrown in place of anything not pulled yet. */
  abort(error: unknown): void {
    this.#items.length = 0;
    this.#ended = { error };
    this.#wake();
  }

  /** Ends the queue at once: nothing more of it is pulled. */
  discard(): void {
    this.#items.length = 0;
    this.end();
  }

  /** Yields the items. When the signal aborts, its reason is thrown at once. */
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
