// Measures whether a listener could play a stream without a gap. A gap arises when a piece of audio arrives after all
// earlier audio has been played.

/** Playback state of one stream. */
export class Playback {
  /** Time to the first audio; undefined before it. */
  firstSoundMs: number | undefined;
  /** The sum of the gaps so far. */
  underrunSeconds = 0;
  #receivedSeconds = 0;
  #elapsedSeconds = 0;

  /** Counts a piece of audio that arrived after a wait. The wait excludes time in which the reader was not reading. */
  add(waitedMs: number, seconds: number): void {
    if (this.firstSoundMs === undefined) this.firstSoundMs = waitedMs;
    else this.#elapsedSeconds += waitedMs / 1000;
    this.underrunSeconds = Math.max(this.underrunSeconds, this.#elapsedSeconds - this.#receivedSeconds);
    this.#receivedSeconds += seconds;
  }
}
