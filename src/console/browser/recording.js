// A recording from the microphone or from a chosen file, as the file to upload and the peaks to draw. A new recording
// replaces the one before.
import { openMicrophone } from './microphone.js';
import { peakOf, peaksOf } from './recording-waveform.js';
import { toWav } from './wav-file.js';

/** Files are decoded at this rate to draw them. */
const decodeRateHz = 48_000;

export class Recording {
  /** The file to upload, once it exists. @type {Blob | undefined} */
  file;
  /** The peak of each block of samples, 0 to 1. @type {number[]} */
  peaks = [];
  /** 0 for a file that this browser cannot decode. */
  seconds = 0;
  /** @type {import('./microphone.js').Microphone | undefined} */
  #microphone;
  #isOpening = false;
  #isClosed = false;
  #onChange;

  /** @param {() => void} onChange Called for every recorded block and every change of state. */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  get isLive() {
    return this.#microphone !== undefined;
  }

  /** Starts a new recording; rejects if the browser denies the microphone. */
  async record() {
    if (this.#isOpening) return;
    this.#isOpening = true;
    this.#clear();
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
    // The user may leave the page while the browser asks for permission.
    if (this.#isClosed) this.close();
    else this.#onChange();
  }

  async stop() {
    const microphone = this.#microphone;
    if (!microphone) return;
    this.#microphone = undefined;
    const { samples, sampleRateHz } = await microphone.stop();
    const integers = Int16Array.from(samples, (sample) => Math.max(-1, Math.min(1, sample)) * 32_767);
    this.#set(toWav(integers, sampleRateHz), peaksOf(samples), samples.length / sampleRateHz);
  }

  /** @param {File} file */
  async load(file) {
    this.#clear();
    try {
      const context = new OfflineAudioContext(1, 1, decodeRateHz);
      const decoded = await context.decodeAudioData(await file.arrayBuffer());
      this.#set(file, peaksOf(decoded.getChannelData(0)), decoded.duration);
    } catch {
      // The service can decode formats that this browser cannot.
      this.#set(file, [], 0);
    }
  }

  /** Releases the microphone and drops the recording. */
  close() {
    this.#isClosed = true;
    this.#microphone?.close();
    this.#microphone = undefined;
    this.#clear();
  }

  /** @type {(file: Blob, peaks: number[], seconds: number) => void} */
  #set(file, peaks, seconds) {
    [this.file, this.peaks, this.seconds] = [file, peaks, seconds];
    this.#onChange();
  }

  #clear() {
    [this.file, this.peaks, this.seconds] = [undefined, [], 0];
  }
}
