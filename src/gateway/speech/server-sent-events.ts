// Speech as Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html). An event is
//
//     id: aud_01JD...:3                                   audio id and number, from 0; what Last-Event-ID sends back
//     event: speech.audio.delta
//     data: {"type":"speech.audio.delta","chunk_index":0,"audio":"UklGR..."}
//
// and an empty line; its data is one line of JSON, in ASCII. A line that begins with a colon is no event: `: keepalive`.
import type { StreamSpeechResponse } from '../../../gen/sonant/v1/speech_pb.ts';
import { type SpeechDone, type SpeechInfo, SpeechTimestamps_Quality } from '../../../gen/sonant/v1/speech_pb.ts';
import { type Failure, failureTable } from '../../errors.ts';
import { toFailureBody } from '../http/failure-reply.ts';
import { formatOf, roundSeconds, secondsOf } from './headers.ts';

/** What went wrong after the first sound, in which chunk, and under which request it happened. */
export interface BrokenOff {
  failure: Failure;
  chunkIndex: number;
  requestId: string;
}

export type StreamEvent = StreamSpeechResponse['event'] | { case: 'broken'; value: BrokenOff };

/** Of every reply that is a stream of events. */
export const eventHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

export const keepalive = ': keepalive\n\n';

export function toEventText(audioId: string, n: number, event: StreamEvent): string {
  // Sound is most of a stream, and base64 needs no escaping.
  if (event.case === 'audio') {
    const { chunkIndex, audioBytes } = event.value;
    const { buffer, byteOffset, byteLength } = audioBytes;
    const audio = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    return `id: ${audioId}:${n}\nevent: speech.audio.delta\ndata: {"type":"speech.audio.delta","chunk_index":${chunkIndex},"audio":"${audio}"}\n\n`;
  }
  const { type, ...data } = toData(audioId, event);
  return `id: ${audioId}:${n}\nevent: ${type}\ndata: ${toAscii(JSON.stringify({ type, ...data }))}\n\n`;
}

const toAscii = (json: string): string =>
  json.replace(/[^\0-~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

function toData(audioId: string, event: StreamEvent): { type: string } & Record<string, unknown> {
  switch (event.case) {
    case 'info':
      return { type: 'speech.audio.info', ...infoOf(event.value) };
    case 'timestamps': {
      const { chunkIndex, words, quality } = event.value;
      return {
        type: 'speech.audio.timestamps',
        chunk_index: chunkIndex,
        words: words.map(({ text, offset, length, startSeconds, endSeconds }) => ({
          text,
          offset,
          length,
          start: roundSeconds(startSeconds),
          end: roundSeconds(endSeconds),
        })),
        quality: quality === SpeechTimestamps_Quality.ENGINE ? 'engine' : 'estimated',
      };
    }
    case 'chunkDone': {
      const { chunkIndex, chars, startSeconds, endSeconds } = event.value;
      const [start, end] = [roundSeconds(startSeconds), roundSeconds(endSeconds)];
      return { type: 'speech.chunk.done', chunk_index: chunkIndex, chars, start, end };
    }
    case 'done':
      return { type: 'speech.audio.done', ...doneOf(audioId, event.value) };
    case 'broken':
      return { type: 'error', ...brokenOf(event.value) };
    default:
      throw new Error(`there is no event for ${event.case}`);
  }
}

const infoOf = (info: SpeechInfo) => ({
  id: info.audioId,
  voice_id: info.voiceId,
  voice_name: info.voiceName,
  method: 'streaming',
  format: formatOf(info.outputFormat),
  content_type: info.contentType,
  sample_rate: info.sampleRateHz,
  channels: info.channelCount,
  chunks: info.chunkCount,
  chars: info.chars,
});

function doneOf(id: string, { chars, duration, byteCount, audioUrl }: SpeechDone) {
  const seconds = secondsOf(duration);
  return {
    id,
    status: 'success',
    chars,
    duration: seconds,
    bytes: Number(byteCount),
    audio_url: audioUrl === '' ? null : audioUrl,
    usage: { characters: chars, audio_seconds: seconds },
  };
}

function brokenOf({ failure, chunkIndex, requestId }: BrokenOff) {
  const { error, message, status, request_id } = toFailureBody(failure, requestId);
  const { retryable } = failureTable[failure.reason];
  return { error, message, status, retryable, chunk_index: chunkIndex, request_id };
}

/** The number in a `Last-Event-ID` of this stream; undefined if it is of another, or none. */
export function numberOfEvent(lastEventId: string, audioId: string): number | undefined {
  const [, id, n] = /^(aud_[0-9A-Z]+):(\d{1,9})$/.exec(lastEventId) ?? [];
  return id === audioId ? Number(n) : undefined;
}

/** About how much memory an event holds. */
export function bytesOf(event: StreamEvent): number {
  if (event.case === 'audio') return event.value.audioBytes.length + 200;
  return event.case === 'timestamps' ? 200 * (event.value.words.length + 1) : 500;
}
