// Speech as Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html). The id consists of the
// audio id and the event's number, counted from 0; clients return the id in Last-Event-ID. The data is one line of
// ASCII JSON, followed by an empty line. A line that begins with a colon is a comment, such as `: keepalive`.
//     id: aud_01JD...:3
//     event: speech.audio.delta
//     data: {"type":"speech.audio.delta","chunk_index":0,"audio":"UklGR..."}
import { StreamSpeechResponseSchema } from '../../../../gen/sonant/v1/speech_pb.ts';
import { toStreamResponse } from '../../../api.ts';
import { type Fields, writeMessage } from '../../../contract.ts';
import type { Failure } from '../../../platform/errors.ts';
import type { SpeechEvent } from '../../../speech.ts';
import { toFailureBody } from '../../net/failure-reply.ts';

/** A failure after the first audio. */
export interface StreamFailed {
  type: 'failed';
  failure: Failure;
  chunkIndex: number;
  requestId: string;
}

export type StreamEvent = SpeechEvent | StreamFailed;

export const eventHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

export const keepalive = ': keepalive\n\n';

export function toEventText(audioId: string, n: number, event: StreamEvent): string {
  // Audio is most of a stream, and base64 needs no JSON escaping.
  if (event.type === 'audio') {
    const { buffer, byteOffset, byteLength } = event.audio;
    const audio = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    return `id: ${audioId}:${n}\nevent: speech.audio.delta\ndata: {"type":"speech.audio.delta","chunk_index":${event.chunkIndex},"audio":"${audio}"}\n\n`;
  }
  const data = toData(audioId, event);
  return `id: ${audioId}:${n}\nevent: ${data.type}\ndata: ${toAscii(JSON.stringify(data))}\n\n`;
}

const toAscii = (json: string): string =>
  json.replace(/[^\0-~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

function toData(audioId: string, event: Exclude<StreamEvent, { type: 'audio' }>): Fields & { type: string } {
  if (event.type === 'failed') return { type: 'error', ...toErrorData(event) };
  const { case: name, value } = toStreamResponse(event).event!;
  const members = writeMessage(StreamSpeechResponseSchema.field[name!].message!, value!);
  const type = eventNames[event.type];
  if (event.type === 'info') {
    const told = Object.entries(members).filter(([name]) => !unsentMembers.includes(name));
    return { type, ...Object.fromEntries(told), method: 'streaming' };
  }
  if (event.type !== 'done') return { type, ...members };
  const usage = { characters: members.chars, audio_seconds: members.duration };
  return { type, id: audioId, status: 'success', ...members, audio_url: members.audio_url || null, usage };
}

/** Members of the first event's message that the headers of the reply have instead. */
export const unsentMembers: readonly string[] = ['warnings', 'audio_url', 'expires_at', 'cached'];

const eventNames = {
  info: 'speech.audio.info',
  timestamps: 'speech.audio.timestamps',
  mark: 'speech.mark',
  chunk_done: 'speech.chunk.done',
  done: 'speech.audio.done',
};

function toErrorData({ failure, chunkIndex, requestId }: StreamFailed) {
  const { error, message, status, retry_after, request_id } = toFailureBody(failure, requestId);
  const retryable = retry_after !== undefined;
  return { error, message, status, retryable, ...(retryable && { retry_after }), chunk_index: chunkIndex, request_id };
}

/** The event number in a `Last-Event-ID`; undefined if the id is malformed or belongs to another stream. */
export function numberOfEvent(lastEventId: string, audioId: string): number | undefined {
  const [, id, n] = /^(aud_[0-9A-Z]+):(\d{1,9})$/.exec(lastEventId) ?? [];
  return id === audioId ? Number(n) : undefined;
}

/** Approximate memory use of an event. */
export function bytesOf(event: StreamEvent): number {
  if (event.type === 'audio') return event.audio.length + 200;
  return event.type === 'timestamps' ? 200 * (event.words.length + 1) : 500;
}
