// Converts the events of a speech stream to messages of SpeechService.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type OutputFormat,
  OutputFormatSchema,
  type SpeechInfoSchema,
  SpeechMark_Kind,
  SpeechTimestamps_Quality,
  type StreamSpeechResponseSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { SpeechEvent, SpeechInfo, SpeechTimestamps } from '../speech/speech-events.ts';
import { toEnumValue } from './speech-fields.ts';

type Event = MessageInitShape<typeof StreamSpeechResponseSchema>;

export function toEvent(event: SpeechEvent): Event {
  switch (event.type) {
    case 'info':
      return { event: { case: 'info', value: toInfo(event) } };
    case 'audio':
      return { event: { case: 'audio', value: { chunkIndex: event.chunkIndex, audio: event.audio } } };
    case 'timestamps': {
      const { chunkIndex, words, quality, languageCode } = event;
      const value = {
        chunkIndex,
        words: words.map(toWord),
        quality: toQuality[quality],
        ...(languageCode && { languageCode }),
      };
      return { event: { case: 'timestamps', value } };
    }
    case 'mark': {
      const { chunkIndex, kind, name, seconds: time } = event;
      return { event: { case: 'mark', value: { chunkIndex, kind: toMarkKind[kind], name, time } } };
    }
    case 'chunk_done': {
      const { chunkIndex, chars, startSeconds: start, endSeconds: end } = event;
      return { event: { case: 'chunkDone', value: { chunkIndex, chars, start, end } } };
    }
    case 'done': {
      const { chars, seconds, byteCount, audioUrl = '' } = event;
      const value = { chars, duration: toDuration(seconds), bytes: BigInt(byteCount), audioUrl };
      return { event: { case: 'done', value } };
    }
  }
}

export const toWord = ({ startSeconds: start, endSeconds: end, ...word }: SpeechTimestamps['words'][number]) => ({
  ...word,
  start,
  end,
});

const toInfo = (info: SpeechInfo): MessageInitShape<typeof SpeechInfoSchema> => ({
  id: info.audioId,
  voiceId: info.voice.voiceId,
  voiceName: info.voice.name,
  format: toEnumValue<OutputFormat>(OutputFormatSchema, info.format),
  contentType: info.contentType,
  sampleRate: info.sampleRateHz,
  channels: 1,
  chunks: info.chunkCount,
  chars: info.chars,
  warnings: [...info.warnings],
  audioUrl: info.audioUrl ?? '',
  ...(info.expiresAt && { expiresAt: timestampFromDate(info.expiresAt) }),
});

export const toQuality = {
  engine: SpeechTimestamps_Quality.ENGINE,
  estimated: SpeechTimestamps_Quality.ESTIMATED,
} as const;

export const toMarkKind = { mark: SpeechMark_Kind.MARK, voice: SpeechMark_Kind.VOICE } as const;

/** Rounded to microseconds, in whole nanoseconds. */
export function toDuration(seconds: number) {
  const micros = Math.round(seconds * 1e6);
  return { seconds: BigInt(Math.floor(micros / 1e6)), nanos: (micros % 1e6) * 1000 };
}
