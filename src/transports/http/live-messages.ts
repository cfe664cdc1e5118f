// The messages of live speech over WebSocket, JSON in text frames:
// {"type":"start","voice_id",...,"audio":"binary"|"json"}  {"type":"text","text"}  {"type":"flush"}
// {"type":"interrupt","played_ms"?,"turn"?}  {"type":"end"}. The service answers with
// {"type":"info"|"timestamps"|"mark"|"flushed"|"interrupted"|"done"|"warning"|"error",...}. Audio is sent as base64 in
// {"type":"audio"}, or as a binary frame, which belongs to the turn of the last `info`.
import { create } from '@bufbuild/protobuf';
import { LiveSpeechRequestSchema, LiveSpeechResponseSchema } from '../../../gen/sonant/v1/speech_pb.ts';
import { type LiveEvent, type LiveInput, toLiveInput, toLiveResponse } from '../../api.ts';
import { newReading, readFrame, throwNamed, type UnknownField, writeMessage } from '../../contract.ts';
import { fieldsOfMessage } from './web-socket.ts';

const audioForms = ['binary', 'json'] as const;

export interface LiveMessage {
  input: LiveInput;
  /** The format in which audio is to be sent, if the message states a format. */
  audio: (typeof audioForms)[number] | undefined;
  /** The unknown members, which are ignored. */
  ignored: readonly UnknownField[];
}

/** Parses a message. Throws a Failure with all faults of the message. */
export async function parseLiveMessage(given: string | Buffer, isStrict: boolean): Promise<LiveMessage> {
  const fields = await fieldsOfMessage(given, 'text');
  const reading = newReading(isStrict);
  const isStart = fields.type === 'start';
  const audio = isStart ? (fields.audio ?? undefined) : undefined;
  const isKnown = audio === undefined || audioForms.includes(audio as never);
  if (!isKnown)
    reading.violations.report('audio', 'enum', `must be one of ${audioForms.join(', ')}`, { allowed: audioForms });
  const message = create(LiveSpeechRequestSchema);
  readFrame(message, LiveSpeechRequestSchema, fields, reading, isStart ? ['audio'] : []);
  try {
    return { input: toLiveInput(message, reading), audio: audio as LiveMessage['audio'], ignored: reading.ignored };
  } catch (error) {
    return throwNamed(error, reading.ignored);
  }
}

/** The frame for an event: a string, or bytes of audio. */
export function toFrame(event: LiveEvent, audio: 'binary' | 'json'): string | Uint8Array {
  if (event.type !== 'audio') {
    const { case: type, value } = toLiveResponse(event).event!;
    return JSON.stringify({ type, ...writeMessage(LiveSpeechResponseSchema.field[type!].message!, value!) });
  }
  if (audio === 'binary') return event.audio;
  return JSON.stringify({ type: 'audio', turn: event.turn, audio: Buffer.from(event.audio).toString('base64') });
}
