// Plays 16-bit samples as they arrive. The audio context has the sample rate of the samples, so nothing is resampled.
// All samples stay in memory, so that playback can seek to any position.
import { PlaybackQueue } from './playback-queue.js';

/**
 * @typedef {object} PlayerOptions
 * @property {number} sampleRateHz
 * @property {() => void} onFirstSample Called once, when the first sample has been rendered.
 * @property {() => void} onEnd Called when all samples have been played.
 *
 * @typedef {{ post(message: object): void, close(): void }} Output
 */

/**
 * Creates an audio context and loads the player worklet. Calling it at the first user gesture saves time later.
 * @param {number} sampleRateHz
 */
export function createPlaybackContext(sampleRateHz) {
  const context = new AudioContext({ sampleRate: sampleRateHz, latencyHint: 'interactive' });
  // Audio worklets exist only in a secure context: HTTPS or localhost.
  const worklet = context.audioWorklet?.addModule(new URL('player-worklet.js', import.meta.url).href);
  return { context, ready: worklet ?? Promise.resolve() };
}

export class Player {
  #context;
  #options;
  /** @type {Int16Array<ArrayBuffer>[]} */
  #pieces = [];
  #pushed = 0;
  #isComplete = false;
  #hasStarted = false;
  /** Whether this player may resume the audio context, which several players share. */
  #shouldPlay = false;
  #isClosed = true;
  #ready;
  /** The position, in samples, at which the current run started. */
  #from = 0;
  /** Number of the run. Each seek starts a new run, and late reports of the previous run are ignored. */
  #run = 0;
  /** @type {PlaybackReport} */
  #last = { number: 0, played: 0, underruns: 0, checksum: 0, isDry: true, isOver: false, time: 0 };
  #earlierUnderruns = 0;
  /** @type {Output | undefined} */
  #output;
  /** @type {Promise<void> | undefined} */
  #opened;

  /**
   * @param {ReturnType<typeof createPlaybackContext>} audio
   * @param {PlayerOptions} options
   */
  constructor({ context, ready }, options) {
    this.#context = context;
    this.#ready = ready;
    this.#options = options;
  }

  /** @param {Int16Array<ArrayBuffer>} samples */
  push(samples) {
    this.#pieces.push(samples);
    this.#pushed += samples.length;
    this.#output?.post({ samples });
  }

  /** Declares that no more samples follow. */
  complete() {
    this.#isComplete = true;
    this.#output?.post({ isLast: true });
  }

  /** Opens the output if it is closed. Rejects if the browser does not allow playback. */
  async play() {
    [this.#isClosed, this.#shouldPlay] = [false, true];
    this.#opened ??= this.#ready.then(() => {
      if (this.#isClosed || this.#output) return;
      this.#output = openOutput(this.#context, (report) => this.#onReport(report));
      this.#startRun();
    });
    await this.#opened;
    if (!this.#shouldPlay) return;
    if (this.#last.isOver) {
      this.#from = 0;
      this.#startRun();
    }
    await this.#context.resume();
  }

  pause() {
    this.#shouldPlay = false;
    return this.#context.suspend();
  }

  /**
   * Seeks to a position. Playback continues, even after the end, unless it is paused.
   * @param {number} seconds
   */
  async seek(seconds) {
    this.#from = Math.round(Math.min(Math.max(seconds * this.#options.sampleRateHz, 0), this.#pushed));
    this.#startRun();
    if (this.#shouldPlay) await this.#context.resume();
  }

  /** Releases the output, so that another player can use the audio context. `play` starts again from the beginning. */
  async close() {
    if (this.#isClosed) return;
    [this.#isClosed, this.#shouldPlay, this.#from] = [true, false, 0];
    await this.#context.suspend();
    this.#output?.close();
    this.#output = this.#opened = undefined;
    this.#last = { ...this.#last, played: 0, isDry: true, isOver: true };
  }

  get isPlaying() {
    return !this.#isClosed && this.#context.state === 'running' && !this.#last.isOver;
  }

  /** The audible position in seconds. */
  get seconds() {
    const { isDry, isOver, played, time } = this.#last;
    const { currentTime, outputLatency } = this.#context;
    const { sampleRateHz } = this.#options;
    const elapsed = isDry || isOver ? 0 : currentTime - time - (outputLatency || 0);
    const samples = this.#from + Math.max(0, played + elapsed * sampleRateHz);
    return Math.min(samples, this.#pushed) / sampleRateHz;
  }

  get pushedSeconds() {
    return this.#pushed / this.#options.sampleRateHz;
  }

  /** The last report of the current run, with the underruns of all runs. */
  get report() {
    return { ...this.#last, underruns: this.#earlierUnderruns + this.#last.underruns };
  }

  /** All pushed samples in one array. */
  samples() {
    const all = new Int16Array(this.#pushed);
    let at = 0;
    for (const piece of this.#pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  /** Starts a run: sends all samples after `#from` to the output. */
  #startRun() {
    this.#earlierUnderruns += this.#last.underruns;
    const { checksum } = this.#last;
    const time = this.#context.currentTime;
    this.#last = { number: ++this.#run, played: 0, underruns: 0, checksum, isDry: true, isOver: false, time };
    this.#output?.post({ begin: this.#run });
    let at = 0;
    for (const piece of this.#pieces) {
      const skipped = Math.max(0, this.#from - at);
      at += piece.length;
      if (skipped < piece.length) this.#output?.post({ samples: skipped > 0 ? piece.slice(skipped) : piece });
    }
    if (this.#isComplete) this.#output?.post({ isLast: true });
  }

  /** @param {PlaybackReport} report */
  #onReport(report) {
    if (this.#isClosed || report.number !== this.#run) return;
    this.#last = report;
    if (!this.#hasStarted && report.played > 0) {
      this.#hasStarted = true;
      this.#options.onFirstSample();
    }
    if (report.isOver) {
      void this.#context.suspend();
      this.#options.onEnd();
    }
  }
}

/**
 * Opens an output that plays the samples posted to it.
 * @param {AudioContext} context
 * @param {(report: PlaybackReport) => void} onReport
 */
export const openOutput = (context, onReport) =>
  (context.audioWorklet ? openWorklet : openScriptProcessor)(context, onReport);

/**
 * @param {AudioContext} context
 * @param {(report: PlaybackReport) => void} onReport
 * @returns {Output}
 */
function openWorklet(context, onReport) {
  const node = new AudioWorkletNode(context, 'sonant-player', { numberOfInputs: 0, outputChannelCount: [1] });
  node.port.onmessage = ({ data }) => onReport(data);
  node.connect(context.destination);
  return {
    post: (message) => node.port.postMessage(message),
    close: () => node.disconnect(),
  };
}

/**
 * Fallback on the main thread, for insecure contexts without audio worklets.
 * @param {AudioContext} context
 * @param {(report: PlaybackReport) => void} onReport
 * @returns {Output}
 */
function openScriptProcessor(context, onReport) {
  const node = context.createScriptProcessor(2048, 0, 1);
  let queue = new PlaybackQueue(context.sampleRate);
  let number = 0;
  let wasOver = false;
  node.onaudioprocess = ({ outputBuffer, playbackTime }) => {
    queue.render(outputBuffer.getChannelData(0));
    const { played, underruns, checksum, isDry, isOver } = queue;
    const time = playbackTime + outputBuffer.duration;
    if (played > 0 && !wasOver) onReport({ number, played, underruns, checksum, isDry, isOver, time });
    wasOver = isOver;
  };
  node.connect(context.destination);
  return {
    post(/** @type {{ begin?: number, samples?: Int16Array, isPause?: boolean, isLast?: boolean }} */ message) {
      const { begin, samples, isPause, isLast } = message;
      if (begin !== undefined) {
        queue = new PlaybackQueue(context.sampleRate);
        number = begin;
        wasOver = false;
      }
      if (samples) queue.push(samples);
      if (isPause) queue.pause();
      if (isLast) queue.end();
    },
    close: () => node.disconnect(),
  };
}
