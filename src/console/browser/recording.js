// A recording while it comes about: heard by the microphone, or read from a file that was chosen; and then kept, as what
// is to be sent. There is one at a time: the next takes the place of the last.
import { openMicrophone } from './microphone.js';
import { peakOf, peaksOf } from './sound-strip.js';
import { toWav } from './wav-file.js';

/** At this rate all recordings are drawn. */
const drawnRateHz = 48_000;

export class Recording {
  /** What is to be sent, once there is something. @type {Blob | undefined} */
  file;
  /** The loudest of each so many samples. @type {number[]} */
  peaks = [];
  /** None of a file that this browser cannot read. */
  seconds = 0;
  /** @type {import('./microphone.js').Microphone | undefined} */
  #microphone;
  #isOpening = false;
  #isLeft = false;
  #onChange;

  /** @param {() => void} onChange Told of every bit that is heard, and of all else. */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  get isLive() {
    return this.#microphone !== undefined;
  }

  /** Begins anew; it is refused where the browser refuses the microphone. */
  async record() {
    if (this.#isOpening) return;
    this.#isOpening = true;
    this.#forget();
    this.#onChange();
    try {
      this.#microphone = await openMicrophone((block, seconds) => {
        if (!this.isLive) return;
        this.peaks.push(peakOf(block));
        this.seconds = seconds;
        this.#onChange();
      });
    } finally {
      this.#isOpening = false;
    }
    // The browser may ask people for a while, and the page be left meanwhile.
    if (this.#isLeft) this.leave();
    else this.#onChange();
  }

  async stop() {
    const ending = this.#microphone;
    if (!ending) return;
    this.#microphone = undefined;
    const { samples, sampleRateHz } = await ending.stop();
    const whole = Int16Array.from(samples, (sample) => Math.max(-1, Math.min(1, sample)) * 32_767);
    this.#keep(toWav(whole, sampleRateHz), peaksOf(samples), samples.length / sampleRateHz);
  }

  /** @param {File} file */
  async take(file) {
    this.#forget();
    try {
      const context = new OfflineAudioContext(1, 1, drawnRateHz);
      const read = await context.decodeAudioData(await file.arrayBuffer());
      this.#keep(file, peaksOf(read.getChannelData(0)), read.duration);
    } catch {
      // The service reads more than browsers do.
      this.#keep(file, [], 0);
    }
  }

  /** Lets go of the microphone, and of what was heard. */
  leave() {
    this.#isLeft = true;
    this.#microphone?.leave();
    this.#microphone = undefined;
    this.#forget();
  }

  /** @type {(file: Blob, peaks: number[], seconds: number) => void} */
  #keep(file, peaks, seconds) {
    [this.file, this.peaks, this.seconds] = [file, peaks, seconds];
    this.#onChange();
  }

  #forget() {
    [this.file, this.peaks, this.seconds] = [undefined, [], 0];
  }
}
