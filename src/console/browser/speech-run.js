// One text, spoken: asks for it as a stream of events, plays the sound as it comes, and collects when each word is heard.
// A run ends as done, as stopped, or as failed; what failed after the first sound was cut off, and is said to be.
/** @import { Api } from './api.js' */
/** @import { Player } from './player.js' */
/** @import { Chunk } from './text-chunks.js' */
import { Refusal } from './api.js';
import { readEvents } from './event-stream-reader.js';
import { createIndexOf } from './text-chunks.js';

/**
 * @typedef {{ from: number, to: number, start: number, end: number }} Word A word's place in the text, and its time.
 *
 * @typedef {object} Speech What is asked for.
 * @property {string} voiceId
 * @property {string} languageCode
 * @property {readonly Chunk[]} chunks
 * @property {number} sampleRateHz
 * @property {number} speakingRate
 *
 * @typedef {object} RunOptions
 * @property {Api} api
 * @property {Speech} speech
 * @property {Player} player
 * @property {AbortSignal} signal
 * @property {(samples: Int16Array<ArrayBuffer>) => void} onSamples
 */

const path = '/api/audio/speech/sse';
/** How often a connection that is lost is taken up again, and after how long. */
const [triesMax, tryAgainMs] = [3, 500];

/** When things happened, for whoever measures. */
export const moments = {
  click: 'sonant:click',
  firstByte: 'sonant:first-byte',
  firstSample: 'sonant:first-sample',
  firstSound: 'sonant:time-to-first-sound',
};

/** What is asked for, as the members of a request.
 * @param {Speech} speech
 */
export const toFields = ({ voiceId, languageCode, sampleRateHz, speakingRate }) => ({
  voice_id: voiceId,
  language_code: languageCode,
  sample_rate: sampleRateHz,
  ...(speakingRate !== 1 && { speaking_rate: speakingRate }),
});

/**
 * Answers once all has come: every word there is is in `words`, in their order.
 * @param {RunOptions} options
 * @param {Word[]} words
 */
export async function runSpeech({ api, speech, player, signal, onSamples }, words) {
  const indices = speech.chunks.map(({ text, from }) => ({ from, indexOf: createIndexOf(text) }));
  const toSamples = createSampleJoin();
  for await (const data of eventsOf({ api, speech, signal })) {
    if (data.type === 'speech.audio.delta') {
      const samples = toSamples(data.audio);
      onSamples(samples);
      player.push(samples);
    } else if (data.type === 'speech.audio.timestamps') {
      const { from, indexOf } = indices[data.chunk_index] ?? { from: 0, indexOf: Number };
      for (const { offset, length, start, end } of data.words)
        words.push({ from: from + indexOf(offset), to: from + indexOf(offset + length), start, end });
    } else if (data.type === 'error') throw new Refusal(data);
  }
}

/**
 * The events of the stream, to its end: where the connection is lost it is taken up again behind the last event.
 * @param {Pick<RunOptions, 'api' | 'speech' | 'signal'>} options
 */
async function* eventsOf({ api, speech, signal }) {
  const texts = speech.chunks.map(({ text }) => text);
  const body = { ...toFields(speech), text_chunks: texts, output_format: 'pcm', timestamps: 'word' };
  let [last, isOver] = ['', false];
  const address = () => `${path}/${last.split(':')[0]}`;
  // Who lost the connection may come back; who stops does not.
  signal.addEventListener('abort', () => {
    if (last !== '' && !isOver) api.send(address(), { method: 'DELETE' }).catch(() => {});
  });
  const ask = async () => {
    if (last !== '') return api.send(address(), { headers: { 'Last-Event-ID': last }, signal });
    const reply = await api.send(path, { body, signal });
    performance.mark(moments.firstByte);
    return reply;
  };
  for (let tries = 0; ; ) {
    try {
      const { body: events } = await ask();
      for await (const { id, data } of readEvents(/** @type {ReadableStream} */ (events))) {
        last = id;
        tries = 0;
        isOver = data.type === 'speech.audio.done' || data.type === 'error';
        yield data;
        if (isOver) return;
      }
    } catch (error) {
      if (signal.aborted || last === '' || error instanceof Refusal) throw error;
    }
    if (tries++ === triesMax) throw new Error('The connection was lost before the end.');
    await new Promise((resolve) => setTimeout(resolve, tryAgainMs * tries));
    signal.throwIfAborted();
  }
}

/** Samples of 16 bit from base64; half a sample at the end of a piece waits for its other half. */
function createSampleJoin() {
  let half = '';
  /** @param {string} base64 */
  return (base64) => {
    const bytes = half + atob(base64);
    const count = bytes.length >> 1;
    half = bytes.slice(count * 2);
    const samples = new Int16Array(count);
    for (let i = 0; i < count; i++) samples[i] = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
    return samples;
  };
}
