// Audio worklet that plays a PlaybackQueue on the audio thread, so that work on the main thread causes no gaps. The
// worklet receives samples and posts PlaybackReports. https://webaudio.github.io/web-audio-api/#AudioWorklet
import { PlaybackQueue } from './playback-queue.js';

const framesBetweenReports = 1024;

class PlayerProcessor extends AudioWorkletProcessor {
  #queue = new PlaybackQueue(sampleRate);
  #number = 0;
  #frames = 0;
  #wasOver = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.begin !== undefined) {
        this.#queue = new PlaybackQueue(sampleRate);
        this.#number = data.begin;
        this.#wasOver = false;
      }
      if (data.samples) this.#queue.push(data.samples);
      if (data.isPause) this.#queue.pause();
      if (data.isLast) this.#queue.end();
    };
  }

  /**
   * @param {Float32Array[][]} _inputs
   * @param {Float32Array[][]} outputs
   */
  process(_inputs, outputs) {
    const out = outputs[0]?.[0];
    if (!out) return true;
    const queue = this.#queue;
    const hadStarted = queue.played > 0;
    queue.render(out);
    this.#frames += out.length;
    const isFirst = !hadStarted && queue.played > 0;
    const isEnd = queue.isOver && !this.#wasOver;
    if (isFirst || isEnd || (this.#frames >= framesBetweenReports && queue.played > 0 && !this.#wasOver)) {
      this.#frames = 0;
      const { played, underruns, checksum, isDry, isOver } = queue;
      const time = currentTime + out.length / sampleRate;
      this.port.postMessage({ number: this.#number, played, underruns, checksum, isDry, isOver, time });
    }
    this.#wasOver = queue.isOver;
    return true;
  }
}

registerProcessor('sonant-player', PlayerProcessor);
