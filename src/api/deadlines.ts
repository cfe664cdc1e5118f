// Timeouts that share one timer per duration. Most are cancelled early, so a timer for each would be wasteful.

export type Deadlines = ReturnType<typeof createDeadlines>;

interface Watched {
  untilMs: number;
  end(): void;
}

export function createDeadlines() {
  const lines = new Map<number, Line>();
  return {
    /** Calls `end` after `timeoutMs`, unless the returned function is called first. */
    watch(timeoutMs: number, end: () => void): () => void {
      const line = lines.get(timeoutMs) ?? new Line(timeoutMs);
      lines.set(timeoutMs, line);
      return line.add(end);
    },
  };
}

/** All entries with the same timeout. The oldest entry always expires first. */
class Line {
  readonly #timeoutMs: number;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  add(end: () => void): () => void {
    const watched = { untilMs: performance.now() + this.#timeoutMs, end };
    this.#watched.add(watched);
    this.#timer ??= this.#wake(this.#timeoutMs);
    return () => void this.#watched.delete(watched);
  }

  #wake(inMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#endLate(), Math.ceil(inMs)).unref();
  }

  #endLate(): void {
    const nowMs = performance.now();
    this.#timer = undefined;
    for (const watched of this.#watched) {
      if (watched.untilMs > nowMs) {
        this.#timer = this.#wake(watched.untilMs - nowMs);
        return;
      }
      this.#watched.delete(watched);
      watched.end();
    }
  }
}
