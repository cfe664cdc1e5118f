// What is heard, handed from the thread of sound to the page: blocks of so many samples, as they come, and the rest of the
// last one when it is told to end.

const blockSamples = 1024;

class Listener extends AudioWorkletProcessor {
  #block = new Float32Array(blockSamples);
  #filled = 0;
  #hasEnded = false;

  constructor() {
    super();
    this.port.onmessage = () => {
      this.#send();
      this.#hasEnded = true;
      this.port.postMessage('end');
    };
  }

  /** @param {Float32Array[][]} inputs */
  process([input]) {
    const heard = input?.[0];
    // A microphone that is not there yet has no channel.
    for (const sample of heard ?? []) {
      this.#block[this.#filled++] = sample;
      if (this.#filled === blockSamples) this.#send();
    }
    return !this.#hasEnded;
  }

  #send() {
    if (this.#filled > 0) this.port.postMessage(this.#block.slice(0, this.#filled));
    this.#filled = 0;
  }
}

registerProcessor('listener', Listener);
