// Tells when something waits too long: audio for a slow reader, or a call for its end. Audio is given and taken many
// times a second, so one timer looks at all waits, instead of a timer for each.

/** Interval between two looks; a listener is called at most this much too late. */
const lookMs = 250;
/** A reader that takes nothing for this long is slow. Audio that was made ahead for it is dropped. */
export const slowMs = 2_000;

interface Limit {
  ms: number;
  listener: () => void;
  /** The wait that the listener knows of. */
  toldMs: number | undefined;
}

const watched = new Set<Pace>();
let looking: NodeJS.Timeout | undefined;

export class Pace {
  /** Time since which something waits to be taken; undefined if nothing waits. */
  #sinceMs: number | undefined;
  readonly #limits = new Set<Limit>();

  /** Something waits for the reader from now on. */
  given(): void {
    this.#sinceMs = performance.now();
  }

  /** The reader has taken what waited. */
  taken(): void {
    this.#sinceMs = undefined;
  }

  /** Calls the listener once for each wait that lasts `ms`, until the returned function is called. */
  after(ms: number, listener: () => void): () => void {
    const limit: Limit = { ms, listener, toldMs: undefined };
    this.#limits.add(limit);
    watched.add(this);
    looking ??= setInterval(look, lookMs).unref();
    return () => {
      this.#limits.delete(limit);
      if (this.#limits.size === 0) watched.delete(this);
    };
  }

  look(nowMs: number): void {
    for (const limit of this.#limits) {
      if (this.#sinceMs === undefined) return;
      if (limit.toldMs === this.#sinceMs || nowMs - this.#sinceMs < limit.ms) continue;
      limit.toldMs = this.#sinceMs;
      limit.listener();
    }
  }
}

function look(): void {
  const nowMs = performance.now();
  for (const pace of watched) pace.look(nowMs);
  if (watched.size > 0) return;
  clearInterval(looking);
  looking = undefined;
}

/** Calls `end` after `ms`, unless the returned function is called first. */
export function giveUpAfter(ms: number, end: () => void): () => void {
  const pace = new Pace();
  pace.given();
  const cancel = pace.after(ms, () => {
    cancel();
    end();
  });
  return cancel;
}
