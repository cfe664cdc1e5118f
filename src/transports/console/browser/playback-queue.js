// A jitter buffer: accepts pieces of any length and returns blocks of samples without gaps. Playback starts when 0.2 s
// are buffered. If the queue runs dry, it counts an underrun and waits until 0.3 s are buffered.

const startSeconds = 0.2;
const restartSeconds = 0.3;

export class PlaybackQueue {
  /** @type {Int16Array[]} */
  #pieces = [];
  /** Number of samples already played from the first piece. */
  #from = 0;
  #buffered = 0;
  #isOpen = true;
  #isDry = true;
  #isPausing = false;
  #threshold;
  #restartThreshold;
  /** Number of times that the queue ran dry after playback had started. */
  underruns = 0;
  /** The number of samples played, and their FNV-1a checksum with one step per sample. */
  played = 0;
  checksum = 0x811c9dc5;

  /** @param {number} sampleRateHz */
  constructor(sampleRateHz) {
    this.#threshold = startSeconds * sampleRateHz;
    this.#restartThreshold = restartSeconds * sampleRateHz;
  }

  /** Whether the queue has ended and all samples have been played. */
  get isOver() {
    return !this.#isOpen && this.#buffered === 0;
  }

  /** Whether the queue is buffering. */
  get isDry() {
    return this.#isDry;
  }

  /** @param {Int16Array} samples */
  push(samples) {
    if (samples.length === 0) return;
    this.#isPausing = false;
    this.#pieces.push(samples);
    this.#buffered += samples.length;
  }

  /** Declares that no more samples follow. */
  end() {
    this.#isOpen = false;
  }

  /** Declares that no more samples follow for now, so that the buffered samples are played without waiting. */
  pause() {
    this.#isPausing = true;
  }

  /**
   * Fills `out` with samples. If there are too few samples, fills the rest with silence.
   * @param {Float32Array} out
   */
  render(out) {
    const isEnough = this.#buffered >= this.#threshold || this.#isPausing || !this.#isOpen;
    if (this.#isDry && this.#buffered > 0 && isEnough) this.#isDry = false;
    let count = 0;
    while (!this.#isDry && count < out.length) {
      const piece = this.#pieces[0];
      if (!piece) this.#runDry();
      else count += this.#take(piece, out.subarray(count));
    }
    out.fill(0, count);
    this.played += count;
    this.#buffered -= count;
  }

  /**
   * @param {Int16Array} piece
   * @param {Float32Array} out
   */
  #take(piece, out) {
    const count = Math.min(out.length, piece.length - this.#from);
    let { checksum } = this;
    for (let i = 0; i < count; i++) {
      const sample = piece[this.#from + i] ?? 0;
      out[i] = sample / 32768;
      checksum = Math.imul(checksum ^ sample, 0x01000193);
    }
    this.checksum = checksum;
    this.#from += count;
    if (this.#from === piece.length) {
      this.#pieces.shift();
      this.#from = 0;
    }
    return count;
  }

  #runDry() {
    this.#isDry = true;
    if (this.#isPausing) return;
    this.#threshold = this.#restartThreshold;
    if (this.#isOpen) this.underruns++;
  }
}
