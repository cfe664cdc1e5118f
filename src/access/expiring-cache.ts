// A cache of limited size whose entries expire after `ttlMs`. When it is full, the oldest entry is evicted.

export class ExpiringCache<Value> {
  readonly #entries = new Map<string, { value: Value; untilMs: number }>();
  readonly #entriesMax: number;
  readonly #ttlMs: number;

  constructor({ entriesMax, ttlMs }: { entriesMax: number; ttlMs: number }) {
    this.#entriesMax = entriesMax;
    this.#ttlMs = ttlMs;
  }

  get(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry && nowMs < entry.untilMs) return entry.value;
    if (entry) this.#entries.delete(key);
    return undefined;
  }

  /** `sinceMs` is when the value was read. */
  set(key: string, value: Value, sinceMs: number): void {
    this.#entries.delete(key);
    // Entries are in the order of their expiry.
    for (const [old, { untilMs }] of this.#entries) {
      if (untilMs > sinceMs) break;
      this.#entries.delete(old);
    }
    if (this.#entries.size >= this.#entriesMax) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, { value, untilMs: sinceMs + this.#ttlMs });
  }

  get size(): number {
    return this.#entries.size;
  }
}
