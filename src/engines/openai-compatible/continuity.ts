// Measures whether a listener could play a stream without a gap, and limits the number of streams per server. A gap
// arises when a piece of audio arrives after all earlier audio has been played. Repeated gaps lower the limit. Streams
// without gaps raise it by one at a time, more rarely above the number of streams that last had gaps.

/** Playback state of one stream. */
export class Playback {
  /** Time to the first audio; undefined before it. */
  firstSoundMs: number | undefined;
  /** The sum of the gaps so far. */
  underrunSeconds = 0;
  receivedSeconds = 0;
  elapsedSeconds = 0;

  /** Counts a piece of audio that arrived after a wait. The wait excludes time in which the reader was not reading. */
  add(waitedMs: number, seconds: number): void {
    if (this.firstSoundMs === undefined) this.firstSoundMs = waitedMs;
    else this.elapsedSeconds += waitedMs / 1000;
    this.underrunSeconds = Math.max(this.underrunSeconds, this.elapsedSeconds - this.receivedSeconds);
    this.receivedSeconds += seconds;
  }

  /** Seconds of audio that arrived per second. */
  get speed(): number {
    return this.receivedSeconds / this.elapsedSeconds;
  }

  /** Whether a gap is audible. Listeners hear shorter gaps as part of the speech. */
  get hasGap(): boolean {
    return this.underrunSeconds > audibleSeconds;
  }
}

const audibleSeconds = 0.1;
/**
 * Weight of the latest stream in the share of streams with gaps. The limit falls after about two gaps in ten streams.
 */
const streamWeight = 0.1;
const gapShareMax = 0.15;
/** Bounds on the lowered limit, as shares of the number of running streams. */
const loweredTo = { min: 0.5, max: 0.8 };
const raiseMsFirst = 5_000;
const raiseMsMax = 300_000;
/** If the limit exceeds the number of streams that last had gaps by this factor, those gaps are regarded as chance. */
const loweredFarAbove = 1.25;
/** Share of the limit that must be in use when a stream begins. A stream at lower load does not raise the limit. */
const fullShare = 0.9;

/** Limits the number of streams that a server speaks at once to at most `max`. */
export class Concurrency {
  readonly #max: number;
  #gapShare = 0;
  #changedMs = -Infinity;
  #raiseMs = raiseMsFirst;
  /** The number of streams at which the limit was last lowered. */
  #loweredAt = Infinity;
  limit: number;

  constructor(max: number) {
    this.#max = max;
    this.limit = max;
  }

  /** Counts the first gap of a stream that began at `begunMs`, with `load` streams under way. */
  gapped(load: number, playback: Playback, begunMs: number, nowMs: number): void {
    // Streams that began before the last change show nothing about the current limit.
    if (begunMs < this.#changedMs) return;
    this.#gapShare += streamWeight * (1 - this.#gapShare);
    if (this.#gapShare < gapShareMax) return;
    const played = 1 - playback.underrunSeconds / playback.elapsedSeconds;
    const share = Math.min(Math.max(played, loweredTo.min), loweredTo.max);
    this.#loweredAt = Math.min(this.limit, load);
    this.#change(Math.max(1, Math.floor(this.#loweredAt * share)), nowMs);
    this.#raiseMs = Math.min(2 * this.#raiseMs, raiseMsMax);
  }

  /** Counts a stream that ended without a gap; `load` streams were under way when it began. */
  continuous(load: number, { speed }: Playback, begunMs: number, nowMs: number): void {
    if (begunMs < this.#changedMs) return;
    this.#gapShare *= 1 - streamWeight;
    if (this.limit >= this.#max || load < this.limit * fullShare) return;
    const raised = this.limit + 1;
    const usualMs = raised < this.#loweredAt ? raiseMsFirst : this.#raiseMs;
    // Some servers send audio no faster than it is played, so a higher limit is sometimes tried at low speed too.
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
