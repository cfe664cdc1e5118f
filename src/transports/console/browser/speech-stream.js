// Streams speech over Server-Sent Events: pushes the audio to the player and collects the time of each word. After a
// lost connection, the stream resumes after the last received event.
/** @import { Api } from './api.js' */
/** @import { Player } from './player.js' */
/** @import { Chunk } from './text-chunks.js' */
import { ApiError } from './api.js';
import { readEvents } from './event-stream-reader.js';
import { createIndexOf } from './text-chunks.js';

/**
 * @typedef {{ from: number, to: number, start: number, end: number }} Word Text indices, and times in seconds.
 *
 * @typedef {object} Speech The text to speak, and its settings.
 * @property {string} voiceId
 * @property {string} languageCode
 * @property {readonly Chunk[]} chunks
 * @property {number} sampleRateHz
 * @property {number} speakingRate
 * @property {'ssml' | 'pauses' | undefined} [markup]
 *
 * @typedef {object} StreamOptions
 * @property {Api} api
 * @property {Speech} speech
 * @property {Player} player
 * @property {AbortSignal} signal
 * @property {(samples: Int16Array<ArrayBuffer>) => void} onSamples
 */

const path = '/api/audio/speech/sse';
/** Maximum number of retries after a lost connection, and the delay added for each retry. */
const [triesMax, retryDelayMs] = [3, 500];

/** Names of User Timing marks and measures. */
export const performanceMarks = {
  click: 'sonant:click',
  firstByte: 'sonant:first-byte',
  firstSample: 'sonant:first-sample',
  firstSound: 'sonant:time-to-first-sound',
};

/**
 * Returns the settings of a speech as fields of a request body.
 * @param {Speech} speech
 */
export const toRequestFields = ({ voiceId, languageCode, sampleRateHz, speakingRate, markup }) => ({
  voice_id: voiceId,
  language_code: languageCode,
  sample_rate: sampleRateHz,
  ...(speakingRate !== 1 && { speaking_rate: speakingRate }),
  ...(markup && { markup }),
});

/**
 * Streams speech to the player and appends its words to `words`. Resolves when the stream has ended, with the header of
 * the WAV file, which states the origin of the audio.
 * @param {StreamOptions} options
 * @param {Word[]} words
 */
export async function streamSpeech({ api, speech, player, signal, onSamples }, words) {
  const indices = speech.chunks.map(({ text, from }) => ({ from, indexOf: createIndexOf(text) }));
  const decoder = createSampleDecoder();
  for await (const data of eventsOf({ api, speech, signal })) {
    if (data.type === 'speech.audio.delta') {
      const samples = decoder.decode(data.audio);
      onSamples(samples);
      player.push(samples);
    } else if (data.type === 'speech.audio.timestamps') {
      const { from, indexOf } = indices[data.chunk_index] ?? { from: 0, indexOf: Number };
      for (const { offset, length, start, end } of data.words)
        words.push({ from: from + indexOf(offset), to: from + indexOf(offset + length), start, end });
    } else if (data.type === 'error') throw new ApiError(data);
  }
  return decoder.head();
}

/**
 * Yields all events of the stream. After a lost connection, resumes after the last event.
 * @param {Pick<StreamOptions, 'api' | 'speech' | 'signal'>} options
 */
async function* eventsOf({ api, speech, signal }) {
  const texts = speech.chunks.map(({ text }) => text);
  const body = { ...toRequestFields(speech), text_chunks: texts, output_format: 'wav', timestamps: 'word' };
  let [lastEventId, isOver] = ['', false];
  const streamPath = () => `${path}/${lastEventId.split(':')[0]}`;
  // The service keeps the stream open so that clients can resume it, so stopping must cancel the stream.
  signal.addEventListener('abort', () => {
    if (lastEventId !== '' && !isOver) api.send(streamPath(), { method: 'DELETE' }).catch(() => {});
  });
  const connect = async () => {
    if (lastEventId !== '') return api.send(streamPath(), { headers: { 'Last-Event-ID': lastEventId }, signal });
    const reply = await api.send(path, { body, signal });
    performance.mark(performanceMarks.firstByte);
    return reply;
  };
  for (let tries = 0; ; ) {
    try {
      const { body: events } = await connect();
      for await (const { id, data } of readEvents(/** @type {ReadableStream} */ (events))) {
        lastEventId = id;
        tries = 0;
        isOver = data.type === 'speech.audio.done' || data.type === 'error';
        yield data;
        if (isOver) return;
      }
    } catch (error) {
      if (signal.aborted || lastEventId === '' || error instanceof ApiError) throw error;
    }
    if (tries++ === triesMax) throw new Error('The connection was lost before the end.');
    await new Promise((resolve) => setTimeout(resolve, retryDelayMs * tries));
    signal.throwIfAborted();
  }
}

/** Bytes before the chunks of a WAV file that follow its format, and bytes of the name and size of a chunk. */
const [formatBytes, chunkHeadBytes] = [36, 8];

/**
 * Decodes base64 of a WAV file to 16-bit samples, and keeps its header. An odd byte at the end of a piece is joined with
 * the next piece.
 */
function createSampleDecoder() {
  let [head, rest] = ['', ''];
  /** @param {string} bytes */
  const toBytes = (bytes) => Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
  return {
    head: () => toBytes(head),
    /** @param {string} base64 */
    decode(base64) {
      rest += atob(base64);
      if (head === '') {
        let end = formatBytes;
        while (end + chunkHeadBytes <= rest.length && rest.slice(end, end + 4) !== 'data')
          end +=
            chunkHeadBytes + new DataView(toBytes(rest.slice(end + 4, end + chunkHeadBytes)).buffer).getUint32(0, true);
        end += chunkHeadBytes;
        if (end > rest.length) return new Int16Array(0);
        [head, rest] = [rest.slice(0, end), rest.slice(end)];
      }
      const count = rest.length >> 1;
      const samples = new Int16Array(toBytes(rest.slice(0, count * 2)).buffer);
      rest = rest.slice(count * 2);
      return samples;
    },
  };
}
