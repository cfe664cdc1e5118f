// The messages of live speech over WebSocket, JSON in text frames:
// {"type":"start","voice_id",...,"audio":"binary"|"json"}  {"type":"text","text"}  {"type":"flush"}
// {"type":"interrupt","played_ms"?,"turn"?}  {"type":"end"}. The service answers with
// {"type":"info"|"timestamps"|"mark"|"flushed"|"interrupted"|"done"|"warning"|"error",...}. Audio is sent as base64 in
// {"type":"audio"}, or as a binary frame, which belongs to the turn of the last `info`.
import type { LiveEvent, LiveInput } from '../../api.ts';
import { type Fields, nameUnknown, type UnknownField } from '../../contract.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { liveFields } from '../../speech.ts';
import { sortFields } from './ignored-fields.ts';
import { parseStartOf } from './live-start.ts';
import { roundSeconds } from './synthesis/speech-headers.ts';
import { fieldsOfMessage } from './web-socket.ts';

const startFields = [...Object.values(liveFields).map(({ json }) => json), 'audio'];

/** The members of each message, by its type. */
const known: Readonly<Record<string, readonly string[]>> = {
  start: startFields,
  text: ['text'],
  flush: [],
  interrupt: ['played_ms', 'turn'],
  end: [],
};

export interface LiveMessage {
  input: LiveInput;
  /** The format in which audio is to be sent, if the message states a format. */
  audio: 'binary' | 'json' | undefined;
  /** The unknown members, which are ignored. */
  ignored: readonly UnknownField[];
}

/** Parses a message. Throws a Failure with all faults of the message. */
export async function parseLiveMessage(message: string | Buffer, isStrict: boolean): Promise<LiveMessage> {
  const { type, ...members } = await fieldsOfMessage(message, 'text');
  const names = typeof type === 'string' && Object.hasOwn(known, type) ? known[type] : undefined;
  if (!names) throw new Failure('invalid_request', { details: [notOneOf('type', Object.keys(known))] });
  const { fields, ignored, faults } = sortFields(members, names, isStrict);
  const audio = audioOf(fields, faults);
  try {
    return { input: toInput(type as LiveInput['type'], fields, faults), audio, ignored };
  } catch (error) {
    throw error instanceof Failure ? nameUnknown(error, ignored) : error;
  }
}

/** Converts the fields of a message. `faults` are the faults found earlier. */
function toInput(type: LiveInput['type'], fields: Fields, faults: FieldViolation[]): LiveInput {
  if (type === 'start') return { type, start: parseStartOf(fields, {}, faults) };
  const { text } = fields;
  // Null counts as absent, as in every body.
  const playedMs = fields.played_ms ?? undefined;
  const turn = fields.turn ?? undefined;
  if (type === 'text' && typeof text !== 'string')
    faults.push({ field: 'text', reason: 'type', message: 'must be a string' });
  if (playedMs !== undefined && !(typeof playedMs === 'number' && playedMs >= 0))
    faults.push({ field: 'played_ms', reason: 'range', message: 'must be a number, 0 or more' });
  if (turn !== undefined && !(Number.isInteger(turn) && Number(turn) >= 0))
    faults.push({ field: 'turn', reason: 'range', message: 'must be an integer, 0 or more' });
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  if (type === 'text') return { type, text: text as string };
  if (type !== 'interrupt') return { type };
  return { type, playedMs: playedMs as number | undefined, turn: turn as number | undefined };
}

function audioOf({ audio }: Fields, faults: FieldViolation[]): LiveMessage['audio'] {
  if (audio === undefined || audio === null) return undefined;
  if (audio === 'binary' || audio === 'json') return audio;
  faults.push(notOneOf('audio', ['binary', 'json']));
  return undefined;
}

const notOneOf = (field: string, allowed: readonly string[]): FieldViolation => {
  const message = `must be one of ${allowed.join(', ')}`;
  return { field, reason: 'enum', message, allowed };
};

/** The frame for an event: a string, or bytes of audio. */
export function toFrame(event: LiveEvent, audio: 'binary' | 'json'): string | Uint8Array {
  if (event.type !== 'audio') return JSON.stringify({ type: event.type, ...toMembers(event) });
  if (audio === 'binary') return event.audio;
  return JSON.stringify({ type: 'audio', turn: event.turn, audio: Buffer.from(event.audio).toString('base64') });
}

function toMembers(event: Exclude<LiveEvent, { type: 'audio' }>): Fields {
  switch (event.type) {
    case 'info': {
      const { turn, audioId, voice, format, contentType, sampleRateHz, warnings } = event;
      const described = { voice_id: voice.voiceId, voice_name: voice.name, format, content_type: contentType };
      return { turn, id: audioId, ...described, sample_rate: sampleRateHz, channels: 1, warnings };
    }
    case 'timestamps': {
      const words = event.words.map(({ startSeconds, endSeconds, ...word }) => ({
        ...word,
        start: startSeconds,
        end: endSeconds,
      }));
      return { turn: event.turn, words, quality: event.quality, language_code: event.languageCode };
    }
    case 'mark': {
      const { turn, kind, name, seconds } = event;
      return { turn, kind, name, time: roundSeconds(seconds) };
    }
    case 'flushed':
      return { turn: event.turn, chars: event.chars, duration: roundSeconds(event.seconds) };
    case 'interrupted': {
      const { turn, playedMs, textSpoken, textRemaining } = event;
      return { turn, played_ms: playedMs, text_spoken: textSpoken, text_remaining: textRemaining };
    }
    case 'done':
      return { chars: event.chars, duration: roundSeconds(event.seconds) };
  }
}
