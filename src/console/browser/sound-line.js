// Sound on its way to the ear: pieces go in at one end as they come, and come out at the other, sample after sample with
// nothing between them. It begins once a little is there; if it runs dry it waits until there is some again, and counts it.

const firstSeconds = 0.2;
const againSeconds = 0.3;

export class SoundLine {
  /** @type {Int16Array[]} */
  #pieces = [];
  /** Of the first piece, how much is out already. */
  #from = 0;
  #waiting = 0;
  #isOpen = true;
  #isDry = true;
  #needed;
  #again;
  /** How often it ran dry after it had begun. */
  underruns = 0;
  /** Samples that came out, and a checksum of them in their order (FNV-1a, one step a sample). */
  played = 0;
  checksum = 0x811c9dc5;

  /** @param {number} sampleRateHz */
  constructor(sampleRateHz) {
    this.#needed = firstSeconds * sampleRateHz;
    this.#again = againSeconds * sampleRateHz;
  }

  /** Whether all that was put in has come out, and no more will be put in. */
  get isOver() {
    return !this.#isOpen && this.#waiting === 0;
  }

  /** Whether nothing comes out for now. */
  get isDry() {
    return this.#isDry;
  }

  /** @param {Int16Array} samples */
  push(samples) {
    if (samples.length === 0) return;
    this.#pieces.push(samples);
    this.#waiting += samples.length;
  }

  /** No more will be put in. */
  end() {
    this.#isOpen = false;
  }

  /**
   * Fills `out`, with silence where there is no sound.
   * @param {Float32Array} out
   */
  render(out) {
    if (this.#isDry && this.#waiting > 0 && (this.#waiting >= this.#needed || !this.#isOpen)) this.#isDry = false;
    let count = 0;
    while (!this.#isDry && count < out.length) {
      const piece = this.#pieces[0];
      if (!piece) this.#runDry();
      else count += this.#take(piece, out.subarray(count));
    }
    out.fill(0, count);
    this.played += count;
    this.#waiting -= count;
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
    this.#needed = this.#again;
    if (this.#isOpen) this.underruns++;
  }
}
