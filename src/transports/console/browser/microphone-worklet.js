// Audio worklet that posts microphone input to the page in blocks of 1024 samples. On a message from the page, it posts
// the last, partial block and ends.

const blockSamples = 1024;

class MicrophoneCapture extends AudioWorkletProcessor {
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
    const channel = input?.[0];
    // There is no channel until the microphone is connected.
    for (const sample of channel ?? []) {
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

registerProcessor('microphone-capture', MicrophoneCapture);
