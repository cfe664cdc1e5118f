// A microphone that records as it is: one channel, at the rate of the device or 48 000 a second, and nothing taken out or
// made louder on the way, since the voice itself is what is wanted.

const sampleRateHz = 48_000;
const wanted = {
  audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false },
};

/**
 * @typedef {object} Sound
 * @property {Float32Array} samples
 * @property {number} sampleRateHz
 *
 * @typedef {object} Microphone
 * @property {number} sampleRateHz
 * @property {() => Promise<Sound>} stop All that was heard; the microphone is let go.
 * @property {() => void} leave Lets go of it, and of what was heard.
 */

/** Pages that did not come over HTTPS or from this very machine get none. */
export const hasMicrophone = () => navigator.mediaDevices !== undefined && window.AudioWorkletNode !== undefined;

/**
 * @param {(block: Float32Array, secondsInAll: number) => void} onBlock Told of what is heard as it is heard.
 * @returns {Promise<Microphone>}
 */
export async function openMicrophone(onBlock) {
  const stream = await navigator.mediaDevices.getUserMedia(wanted).catch((error) => {
    throw inWords(error);
  });
  /** @type {AudioContext | undefined} */
  let context;
  const leave = () => {
    for (const track of stream.getTracks()) track.stop();
    if (context?.state !== 'closed') void context?.close();
  };
  try {
    const { context: opened, source } = connect(stream);
    context = opened;
    await context.audioWorklet.addModule(new URL('./microphone-worklet.js', import.meta.url));
    const listener = new AudioWorkletNode(context, 'listener', { channelCount: 1, channelCountMode: 'explicit' });
    /** @type {Float32Array[]} */
    const blocks = [];
    const { promise: ended, resolve } = Promise.withResolvers();
    let heard = 0;
    listener.port.onmessage = ({ data }) => {
      if (data === 'end') return resolve(undefined);
      blocks.push(data);
      heard += data.length;
      onBlock(data, heard / opened.sampleRate);
    };
    // What nobody listens to is not run; it says nothing.
    source.connect(listener).connect(context.destination);
    await context.resume();
    return {
      sampleRateHz: context.sampleRate,
      leave,
      async stop() {
        listener.port.postMessage('end');
        await ended;
        leave();
        return { samples: joined(blocks, heard), sampleRateHz: opened.sampleRate };
      },
    };
  } catch (error) {
    leave();
    throw error;
  }
}

/**
 * Where a browser does not change rates on the way in, at the rate of the device.
 * @param {MediaStream} stream
 */
function connect(stream) {
  const context = new AudioContext({ sampleRate: sampleRateHz });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    void context.close();
    const own = new AudioContext();
    return { context: own, source: own.createMediaStreamSource(stream) };
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
function inWords(error) {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError')
    return new Error('The browser was not allowed to listen. Allow the microphone for this page, or choose a file.');
  if (name === 'NotFoundError') return new Error('There is no microphone here. Connect one, or choose a file.');
  if (name === 'NotReadableError') return new Error('The microphone is in use elsewhere, or does not answer.');
  return error;
}
