// Converts the messages of SpeechService.LiveSpeech to inputs of live speech, and events to messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type LiveSpeechRequest,
  type LiveSpeechResponseSchema,
  type OutputFormat,
  OutputFormatSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { LiveEvent, LiveInput } from '../api/live-session.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { parseLiveMessage, toEnumValue } from './speech-fields.ts';
import { toDuration, toMarkKind, toQuality, toWord } from './speech-messages.ts';

type Event = MessageInitShape<typeof LiveSpeechResponseSchema>;

export async function* toLiveInputs(messages: AsyncIterable<LiveSpeechRequest>): AsyncGenerator<LiveInput> {
  for await (const { request } of messages) yield toLiveInput(request);
}

function toLiveInput(request: LiveSpeechRequest['request']): LiveInput {
  switch (request.case) {
    case 'start':
      return { type: 'start', start: parseLiveMessage(request.value) };
    case 'text':
      return { type: 'text', text: request.value.text };
    case 'interrupt': {
      const { playedMs, turn } = request.value;
      const details = Object.entries({ played_ms: playedMs, turn })
        .filter(([, value]) => value !== undefined && !(value >= 0))
        .map(
          ([name]): FieldViolation => ({ field: `interrupt.${name}`, reason: 'range', message: 'must be 0 or more' }),
        );
      if (details.length > 0) throw new Failure('invalid_request', { details });
      return { type: 'interrupt', playedMs, turn };
    }
    case 'flush':
    case 'end':
      return { type: request.case };
    default:
      throw new Failure('invalid_request', { message: 'A request holds start, text, flush, interrupt or end.' });
  }
}

export function toLiveResponse(event: LiveEvent): Event {
  switch (event.type) {
    case 'info': {
      const { turn, audioId, voice, format, contentType, sampleRateHz, warnings } = event;
      const sound = { format: toEnumValue<OutputFormat>(OutputFormatSchema, format), contentType };
      const described = { voiceId: voice.voiceId, voiceName: voice.name, ...sound, sampleRate: sampleRateHz };
      return {
        event: { case: 'info', value: { turn, id: audioId, ...described, channels: 1, warnings: [...warnings] } },
      };
    }
    case 'audio':
      return { event: { case: 'audio', value: { turn: event.turn, audio: event.audio } } };
    case 'timestamps': {
      const { turn, words, quality, languageCode } = event;
      const value = {
        turn,
        words: words.map(toWord),
        quality: toQuality[quality],
        ...(languageCode && { languageCode }),
      };
      return { event: { case: 'timestamps', value } };
    }
    case 'mark': {
      const { turn, kind, name, seconds: time } = event;
      return { event: { case: 'mark', value: { turn, kind: toMarkKind[kind], name, time } } };
    }
    case 'flushed': {
      const { turn, chars, seconds } = event;
      return { event: { case: 'flushed', value: { turn, chars, duration: toDuration(seconds) } } };
    }
    case 'interrupted': {
      const { type: _, ...interrupted } = event;
      return { event: { case: 'interrupted', value: interrupted } };
    }
    case 'done':
      return { event: { case: 'done', value: { chars: event.chars, duration: toDuration(event.seconds) } } };
  }
}
