// A line of sound where the browser renders audio: away from the page, so that nothing the page does makes a gap. It is
// told of pieces, and tells where it is. https://webaudio.github.io/web-audio-api/#AudioWorklet
import { SoundLine } from './sound-line.js';

const framesBetweenReports = 1024;

class SoundProcessor extends AudioWorkletProcessor {
  #line = new SoundLine(sampleRate);
  #number = 0;
  #frames = 0;
  #wasOver = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.begin !== undefined) {
        this.#line = new SoundLine(sampleRate);
        this.#number = data.begin;
        this.#wasOver = false;
      }
      if (data.samples) this.#line.push(data.samples);
      if (data.isLast) this.#line.end();
    };
  }

  /**
   * @param {Float32Array[][]} _inputs
   * @param {Float32Array[][]} outputs
   */
  process(_inputs, outputs) {
    const out = outputs[0]?.[0];
    if (!out) return true;
    const line = this.#line;
    const hadBegun = line.played > 0;
    line.render(out);
    this.#frames += out.length;
    const isFirst = !hadBegun && line.played > 0;
    const isEnd = line.isOver && !this.#wasOver;
    if (isFirst || isEnd || (this.#frames >= framesBetweenReports && line.played > 0 && !this.#wasOver)) {
      this.#frames = 0;
      const { played, underruns, checksum, isDry, isOver } = line;
      const time = currentTime + out.length / sampleRate;
      this.port.postMessage({ number: this.#number, played, underruns, checksum, isDry, isOver, time });
    }
    this.#wasOver = line.isOver;
    return true;
  }
}

registerProcessor('sonant-sound', SoundProcessor);
