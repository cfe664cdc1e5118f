// A job of a ThreadPool as its reader sees it: pieces that come as they are made, and an end.

interface PoolJobOptions<Task> {
  id: number;
  task: Task;
  urgent: boolean;
  timeoutMs: number;
}

export class PoolJob<Task, Piece> {
  readonly id: number;
  readonly task: Task;
  readonly urgent: boolean;
  readonly timeoutMs: number;
  /** How many threads have begun it. */
  attempts = 0;
  isHeard = false;
  #pieces: Piece[] = [];
  #ended: { error: unknown } | undefined;
  #wake = () => {};

  constructor({ id, task, urgent, timeoutMs }: PoolJobOptions<Task>) {
    this.id = id;
    this.task = task;
    this.urgent = urgent;
    this.timeoutMs = timeoutMs;
  }

  put(pieces: readonly Piece[]): void {
    if (this.#ended) return;
    this.isHeard = true;
    this.#pieces.push(...pieces);
    this.#wake();
  }

  /** With an error, what has not been read yet is dropped. */
  end(error: unknown): void {
    if (this.#ended) return;
    this.#ended = { error };
    if (error !== undefined) this.#pieces = [];
    this.#wake();
  }

  async *pieces(): AsyncGenerator<Piece> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) yield piece;
      else if (this.#ended?.error !== undefined) throw this.#ended.error;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
