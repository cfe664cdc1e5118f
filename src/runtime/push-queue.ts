// A queue from one pusher to one puller, in order. After the last item the queue ends or throws its error. Items pushed
// after the end are dropped. A puller that stops reading ends the queue.
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

  /** Ends the queue with an error, which is thrown after all items pushed before. */
  fail(error: unknown): void {
    this.#ended ??= { error };
    this.#wake();
  }

  /** Ends the queue at once. The error replaces all items not pulled yet. */
  abort(error: unknown): void {
    this.#items.length = 0;
    this.#ended = { error };
    this.#wake();
  }

  /** Ends the queue at once. Items not pulled yet are dropped. */
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
