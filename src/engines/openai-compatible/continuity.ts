// Whether a listener could play a stream without a gap, and how many streams a server speaks at once without gaps. Playback
// begins with the first sound; a piece that arrives after the sound before it has been played leaves a gap. If gaps repeat,
// the server gets fewer streams at once. Without gaps it gets one more at a time: soon as long as it is below what failed last,
// and ever more rarely beyond that.

/** Where playback of one stream stands. */
export class Playback {
  /** Undefined before the first sound. */
  firstSoundMs: number | undefined;
  /** The sum of the gaps so far. */
  underrunSeconds = 0;
  receivedSeconds = 0;
  elapsedSeconds = 0;

  /** A piece of sound arrived after this wait. Time in which nobody read does not belong to it. */
  add(waitedMs: number, seconds: number): void {
    if (this.firstSoundMs === undefined) this.firstSoundMs = waitedMs;
    else this.elapsedSeconds += waitedMs / 1000;
    this.underrunSeconds = Math.max(this.underrunSeconds, this.elapsedSeconds - this.receivedSeconds);
    this.receivedSeconds += seconds;
  }

  /** Seconds of sound that arrived in a second. */
  get speed(): number {
    return this.receivedSeconds / this.elapsedSeconds;
  }

  /** Listeners hear shorter gaps as part of the speech. */
  get hasGap(): boolean {
    return this.underrunSeconds > audibleSeconds;
  }
}

const audibleSeconds = 0.1;
/** A single late piece shows nothing; two of about ten streams with a gap do. */
const streamWeight = 0.1;
const gapShareMax = 0.15;
/** A lowering is at least and at most this much of the streams under way. */
const loweredTo = { min: 0.5, max: 0.8 };
const raiseMsFirst = 5_000;
const raiseMsMax = 300_000;
/** Beyond this much of what failed last, that was chance. */
const loweredFarAbove = 1.25;
/** Only a server that is nearly full shows that it can do more. */
const fullShare = 0.9;

/** How many streams a server speaks at once, at most `max`. */
export class Concurrency {
  readonly #max: number;
  #gapShare = 0;
  #changedMs = -Infinity;
  #raiseMs = raiseMsFirst;
  /** Where it was lowered last. */
  #loweredAt = Infinity;
  limit: number;

  constructor(max: number) {
    this.#max = max;
    this.limit = max;
  }

  /** A stream that began at `begunMs` has its first gap, with `load` streams under way. */
  gapped(load: number, playback: Playback, begunMs: number, nowMs: number): void {
    // Streams of the time before show what was wrong then.
    if (begunMs < this.#changedMs) return;
    this.#gapShare += streamWeight * (1 - this.#gapShare);
    if (this.#gapShare < gapShareMax) return;
    const played = 1 - playback.underrunSeconds / playback.elapsedSeconds;
    const share = Math.min(Math.max(played, loweredTo.min), loweredTo.max);
    this.#loweredAt = Math.min(this.limit, load);
    this.#change(Math.max(1, Math.floor(this.#loweredAt * share)), nowMs);
    this.#raiseMs = Math.min(2 * this.#raiseMs, raiseMsMax);
  }

  /** A stream ended without a gap; `load` streams were under way when it began. */
  continuous(load: number, { speed }: Playback, begunMs: number, nowMs: number): void {
    if (begunMs < this.#changedMs) return;
    this.#gapShare *= 1 - streamWeight;
    if (this.limit >= this.#max || load < this.limit * fullShare) return;
    const raised = this.limit + 1;
    const usualMs = raised < this.#loweredAt ? raiseMsFirst : this.#raiseMs;
    // Some servers send no faster than sound is played, so it is tried now and then all the same.
    const dueMs = speed * this.limit >= raised ? usualMs : raiseMsMax;
    if (nowMs - this.#changedMs < dueMs) return;
    if (raised > loweredFarAbove * this.#loweredAt) this.#raiseMs = raiseMsFirst;
    this.#change(raised, nowMs);
  }

  #change(limit: number, nowMs: number): void {
    this.limit = limit;
    this.#gapShare = 0;
    this.#changedMs = nowMs;
  }
}
