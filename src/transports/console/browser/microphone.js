// Records mono samples from the microphone at 48 kHz, or at the device's rate. Echo cancellation, noise
// suppression and automatic gain are off, because they alter the voice that is being cloned.

const sampleRateHz = 48_000;
const constraints = {
  audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false },
};

/**
 * @typedef {object} Samples
 * @property {Float32Array} samples
 * @property {number} sampleRateHz
 *
 * @typedef {object} Microphone
 * @property {number} sampleRateHz
 * @property {() => Promise<Samples>} stop Releases the microphone and returns all samples.
 * @property {() => void} close Releases the microphone and discards the samples.
 */

/** Browsers offer a microphone only in a secure context: HTTPS or localhost. */
export const hasMicrophone = () => navigator.mediaDevices !== undefined && window.AudioWorkletNode !== undefined;

/**
 * @param {(block: Float32Array, seconds: number) => void} onBlock Receives each block, and the total length so far.
 * @returns {Promise<Microphone>}
 */
export async function openMicrophone(onBlock) {
  const stream = await navigator.mediaDevices.getUserMedia(constraints).catch((error) => {
    throw toReadableError(error);
  });
  /** @type {AudioContext | undefined} */
  let context;
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    if (context?.state !== 'closed') void context?.close();
  };
  try {
    const { context: opened, source } = connect(stream);
    context = opened;
    await context.audioWorklet.addModule(new URL('./microphone-worklet.js', import.meta.url));
    const capture = new AudioWorkletNode(context, 'microphone-capture', {
      channelCount: 1,
      channelCountMode: 'explicit',
    });
    /** @type {Float32Array[]} */
    const blocks = [];
    const { promise: ended, resolve } = Promise.withResolvers();
    let length = 0;
    capture.port.onmessage = ({ data }) => {
      if (data === 'end') return resolve(undefined);
      blocks.push(data);
      length += data.length;
      onBlock(data, length / opened.sampleRate);
    };
    // A worklet runs only while it is connected to the destination. Its output is silent.
    source.connect(capture).connect(context.destination);
    await context.resume();
    return {
      sampleRateHz: context.sampleRate,
      close,
      async stop() {
        capture.port.postMessage('end');
        await ended;
        close();
        return { samples: joined(blocks, length), sampleRateHz: opened.sampleRate };
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Uses the rate of the device if the browser cannot resample the input.
 * @param {MediaStream} stream
 */
function connect(stream) {
  const context = new AudioContext({ sampleRate: sampleRateHz });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    void context.close();
    const deviceContext = new AudioContext();
    return { context: deviceContext, source: deviceContext.createMediaStreamSource(stream) };
  }
}

/**
 * @param {Float32Array[]} blocks
 * @param {number} length
 */
function joined(blocks, length) {
  const samples = new Float32Array(length);
  let at = 0;
  for (const block of blocks) {
    samples.set(block, at);
    at += block.length;
  }
  return samples;
}

/** @param {unknown} error */
function toReadableError(error) {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError')
    return new Error('The browser denied access to the microphone. Allow it for this page, or choose a file.');
  if (name === 'NotFoundError') return new Error('No microphone was found. Connect one, or choose a file.');
  if (name === 'NotReadableError') return new Error('The microphone is used by another program, or does not respond.');
  return error;
}
