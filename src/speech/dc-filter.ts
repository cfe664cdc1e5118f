// Removes the DC offset of a segment with a first-order high-pass filter at 20 Hz, because the offset of some voices
// varies. The filter attenuates by 0.2 dB at 85 Hz, the lowest pitch of most men. The output does not depend on how the
// input is split.

const cutoffHz = 20;

export class DcFilter {
  readonly #feedback: number;
  #lastIn: number | undefined;
  #lastOut = 0;

  constructor(sampleRateHz: number) {
    this.#feedback = Math.exp((-2 * Math.PI * cutoffHz) / sampleRateHz);
  }

  process(samples: Int16Array): Int16Array<ArrayBuffer> {
    const feedback = this.#feedback;
    const filtered = new Int16Array(samples.length);
    // The filter starts from the value of the first sample, so an initial offset does not act as a step.
    let lastIn = this.#lastIn ?? samples[0] ?? 0;
    let out = this.#lastOut;
    for (let i = 0; i < samples.length; i++) {
      const sample = samples[i]!;
      out = sample - lastIn + feedback * out;
      lastIn = sample;
      filtered[i] = Math.max(-32768, Math.min(32767, Math.round(out)));
    }
    this.#lastIn = lastIn;
    this.#lastOut = out;
    return filtered;
  }
}
