// Remembers a few things for a moment: at most so many, none longer than `keptMs`. The oldest make room.

export class ExpiringCache<Value> {
  readonly #entries = new Map<string, { value: Value; untilMs: number }>();
  readonly #entriesMax: number;
  readonly #keptMs: number;

  constructor({ entriesMax, keptMs }: { entriesMax: number; keptMs: number }) {
    this.#entriesMax = entriesMax;
    this.#keptMs = keptMs;
  }

  get(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry && nowMs < entry.untilMs) return entry.value;
    if (entry) this.#entries.delete(key);
    return undefined;
  }

  /** `sinceMs` is when the value was known to be so. */
  set(key: string, value: Value, sinceMs: number): void {
    this.#entries.delete(key);
    // They come in the order of their ends: what is over goes first.
    for (const [old, { untilMs }] of this.#entries) {
      if (untilMs > sinceMs) break;
      this.#entries.delete(old);
    }
    if (this.#entries.size >= this.#entriesMax) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, { value, untilMs: sinceMs + this.#keptMs });
  }

  get size(): number {
    return this.#entries.size;
  }
}
