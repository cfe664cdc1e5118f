// Plays live speech as it arrives, and calculates the audible position from the clock of the audio context. Stopping
// discards all unplayed audio within one block of samples.
import { createPlaybackContext, openOutput } from './player.js';

/** If no samples arrive for this many milliseconds, the buffered samples are played. */
const pauseMs = 150;
/** The audio context is suspended this many milliseconds after the last audio. */
const restMs = 2000;

export class LivePlayer {
  sampleRateHz;
  #context;
  #onStart;
  /** @type {import('./player.js').Output | undefined} */
  #output;
  /** Samples that arrived before the output was ready. @type {Int16Array[]} */
  #early = [];
  #pushed = 0;
  #run = 0;
  /** Sample positions in the current run for which `onStart` is called. @type {number[]} */
  #starts = [];
  /** @type {PlaybackReport} */
  #last = { number: 0, played: 0, underruns: 0, checksum: 0, isDry: true, isOver: false, time: 0 };
  #pauseTimer = 0;
  #restTimer = 0;

  /**
   * @param {number} sampleRateHz
   * @param {(seconds: number, atMs: number) => void} onStart Called after position `seconds` was played, at `atMs`.
   */
  constructor(sampleRateHz, onStart) {
    this.sampleRateHz = sampleRateHz;
    this.#onStart = onStart;
    const { context, ready } = createPlaybackContext(sampleRateHz);
    this.#context = context;
    void ready.then(() => {
      if (context.state === 'closed') return;
      this.#output = openOutput(context, (report) => this.#onReport(report));
      this.#output.post({ begin: this.#run });
      for (const samples of this.#early) this.#output.post({ samples });
      this.#early = [];
    });
  }

  /** Resumes the audio context; browsers allow this only within a user gesture. */
  wake() {
    clearTimeout(this.#restTimer);
    if (this.#context.state === 'suspended') void this.#context.resume();
  }

  rest() {
    clearTimeout(this.#restTimer);
    this.#restTimer = setTimeout(() => void this.#context.suspend(), restMs);
  }

  /** Requests a call of `onStart` for the next pushed sample. */
  expectStart() {
    this.#starts.push(this.#pushed);
  }

  /** @param {Int16Array<ArrayBuffer>} samples */
  push(samples) {
    this.wake();
    this.#pushed += samples.length;
    if (this.#output) this.#output.post({ samples });
    else this.#early.push(samples);
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = setTimeout(() => this.pause(), pauseMs);
  }

  /** Declares that no more samples follow for now, so that the buffered samples are played. */
  pause() {
    clearTimeout(this.#pauseTimer);
    this.#output?.post({ isPause: true });
  }

  /** Discards all unplayed audio and resets the position to 0. */
  stop() {
    this.#output?.post({ begin: ++this.#run });
    clearTimeout(this.#pauseTimer);
    this.#pushed = 0;
    this.#early = [];
    this.#starts = [];
    this.#last = { ...this.#last, number: this.#run, played: 0, isDry: true };
  }

  close() {
    this.stop();
    clearTimeout(this.#restTimer);
    this.#output?.close();
    void this.#context.close();
  }

  /** The audible position in seconds since the last stop. */
  get seconds() {
    const { played, isDry, time } = this.#last;
    const { currentTime, outputLatency } = this.#context;
    const elapsed = isDry ? 0 : currentTime - time - (outputLatency || 0);
    return Math.min(Math.max(0, played + elapsed * this.sampleRateHz), this.#pushed) / this.sampleRateHz;
  }

  get pushedSeconds() {
    return this.#pushed / this.sampleRateHz;
  }

  /** @param {PlaybackReport} report */
  #onReport(report) {
    if (report.number !== this.#run) return;
    this.#last = report;
    for (let start = this.#starts[0]; start !== undefined && report.played > start; start = this.#starts[0]) {
      this.#starts.shift();
      const sinceSeconds = this.#context.currentTime - report.time + (report.played - start) / this.sampleRateHz;
      this.#onStart(start / this.sampleRateHz, performance.now() - sinceSeconds * 1000);
    }
  }
}
