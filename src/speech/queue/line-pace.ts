// How fast a line moves, measured where somebody waits; from that, how long a place in it is, and whether it is beyond
// saving: its last would have waited for too long for seconds. It is saved when nobody was refused because of that for as
// long; where it is empty it may be so for a moment, and stays beyond saving.
/** A line that takes longer to be served is too long. */
export const lineMsTarget = 500;
/** A line that was too long for so long is beyond saving, and saved when nobody was refused for so long. */
const momentMsMax = 2000;
/** Where nobody waits, because what was measured says that it would be in vain, it is forgotten after so long. */
const keptMsMax = 60_000;
/** The weight of the newest interval in the mean. */
const intervalWeight = 0.1;

export class LinePace {
  readonly #now: () => number;
  #meanMs: number | undefined;
  #lastMs = 0;
  #tooLongSinceMs: number | undefined;
  #emptySinceMs: number | undefined;
  #refusedMs = -Infinity;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A line begins. */
  begin(): void {
    this.#lastMs = this.#now();
  }

  /** One of those that wait was admitted. */
  admitted(): void {
    const nowMs = this.#now();
    const ms = nowMs - this.#lastMs;
    this.#meanMs = this.#meanMs === undefined ? ms : this.#meanMs + intervalWeight * (ms - this.#meanMs);
    this.#lastMs = nowMs;
  }

  /** Between two that are admitted; `usualMs` where nothing has been measured of late. */
  intervalMs(usualMs: number): number {
    if (this.#now() - (this.#emptySinceMs ?? Infinity) >= keptMsMax) this.#meanMs = undefined;
    return Math.max(1, this.#meanMs ?? usualMs);
  }

  /** Until so many, and one more, have been admitted. */
  waitMs(before: number, usualMs: number): number {
    const interval = this.intervalMs(usualMs);
    const isMoving = this.#meanMs !== undefined && this.#emptySinceMs === undefined;
    const late = isMoving ? Math.max(0, this.#now() - this.#lastMs - interval) : 0;
    return interval * (before + 1) + late;
  }

  /** Somebody was refused because the line is beyond saving. */
  refused(): void {
    this.#refusedMs = this.#now();
  }

  /** To be asked after every change of the line. */
  isBeyondSaving(waiting: number, usualMs: number): boolean {
    const nowMs = this.#now();
    if (waiting > 0) this.#emptySinceMs = undefined;
    else this.#emptySinceMs ??= nowMs;
    if (this.#isBeyond() && nowMs - Math.max(this.#refusedMs, this.#tooLongSinceMs! + momentMsMax) >= momentMsMax)
      this.#tooLongSinceMs = undefined;
    const isTooLong = this.intervalMs(usualMs) * waiting > lineMsTarget;
    if (isTooLong) this.#tooLongSinceMs ??= nowMs;
    else if (!this.#isBeyond()) this.#tooLongSinceMs = undefined;
    return this.#isBeyond();
  }

  #isBeyond(): boolean {
    return this.#tooLongSinceMs !== undefined && this.#now() - this.#tooLongSinceMs >= momentMsMax;
  }
}
