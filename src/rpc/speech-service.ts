// sonant.v1.SpeechService: converts messages to requests for speech, and results to messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type CaptionFormat,
  CaptionFormatSchema,
  EstimateSpeechRequestSchema,
  type OutputFormat,
  OutputFormatSchema,
  type SpeechInfoSchema,
  type SpeechService,
  SpeechTimestamps_Quality,
  StreamSpeechRequestSchema,
  type StreamSpeechResponseSchema,
  SynthesizeSpeechRequestSchema,
  type SynthesizeSpeechResponseSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { Delivered } from '../delivery/delivery.ts';
import type { FieldViolation } from '../errors.ts';
import { isFreshWanted } from '../net/cache-control.ts';
import { inlineBytesMax } from '../operations/limits.ts';
import type { SpeechOperations } from '../operations/speech.ts';
import type { SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import { callOf } from './call-context.ts';
import { requireText } from './required.ts';
import { parseSpeechMessage, toEnumValue } from './speech-fields.ts';

type Service = ServiceImpl<typeof SpeechService>;
type Event = MessageInitShape<typeof StreamSpeechResponseSchema>;

export function createSpeechService(speech: SpeechOperations): Service {
  async function* streamSpeech(...[message, context]: Parameters<Service['streamSpeech']>): AsyncGenerator<Event> {
    const request = parseSpeechMessage(StreamSpeechRequestSchema, message, 'streaming');
    for await (const event of speech.streamSpeech(callOf(context), request)) yield toEvent(event);
  }

  return {
    async synthesizeSpeech(message, context) {
      const call = callOf(context);
      const { bytesMax, violations } = readInlineBytesMax(message.inlineBytesMax);
      const request = parseSpeechMessage(SynthesizeSpeechRequestSchema, message, 'rest', violations);
      const fresh = isFreshWanted(context.requestHeader.get('cache-control'));
      const delivered = await speech.synthesizeSpeech(call, request, { fresh, inlineBytesMax: bytesMax });
      const isLink = request.returnFormat === 'url';
      return {
        ...describe(delivered),
        ...(isLink ? toLink(delivered) : await inline(delivered, call.signal)),
      };
    },
    streamSpeech,
    async estimateSpeech(message, context) {
      const request = parseSpeechMessage(EstimateSpeechRequestSchema, message, 'streaming');
      const { seconds, byteCount, warnings, ...estimate } = await speech.estimateSpeech(callOf(context), request);
      return { ...estimate, warnings: [...warnings], duration: toDuration(seconds), byteCount: BigInt(byteCount) };
    },
    async deleteAudio({ audioId }, context) {
      await speech.deleteAudio(callOf(context), requireText('audio_id', audioId, 'name the audio to delete'));
      return {};
    },
  };
}

function readInlineBytesMax(bytesMax = inlineBytesMax): { bytesMax: number; violations: FieldViolation[] } {
  const isValid = bytesMax >= 1 && bytesMax <= inlineBytesMax;
  const violation = { field: 'inline_bytes_max', reason: 'range', message: `must be 1 to ${inlineBytesMax}` };
  return { bytesMax, violations: isValid ? [] : [violation] };
}

const describe = (delivered: Delivered) => ({
  audioId: delivered.audioId,
  voiceId: delivered.voice.voiceId,
  voiceName: delivered.voice.name,
  chars: delivered.chars,
  outputFormat: toEnumValue<OutputFormat>(OutputFormatSchema, delivered.format),
  sampleRateHz: delivered.sampleRateHz,
  duration: toDuration(delivered.seconds),
  cached: delivered.cached,
  warnings: [...delivered.warnings],
});

type Audio = Pick<MessageInitShape<typeof SynthesizeSpeechResponseSchema>, 'audio' | 'expireTime' | 'captions'>;

const toLink = ({ audioUrl, captionUrls, expiresAt }: Delivered) =>
  ({
    audio: { case: 'audioUrl', value: audioUrl },
    expireTime: timestampFromDate(expiresAt),
    captions: Object.entries(captionUrls).map(([kind, url]) => ({
      format: toEnumValue<CaptionFormat>(CaptionFormatSchema, kind),
      url,
    })),
  }) satisfies Audio;

async function inline(delivered: Delivered, signal: AbortSignal) {
  const pieces: Uint8Array[] = [];
  for await (const piece of delivered.open()) {
    signal.throwIfAborted();
    pieces.push(piece);
  }
  return {
    audio: { case: 'audioBytes', value: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) },
  } satisfies Audio;
}

function toEvent(event: SpeechEvent): Event {
  switch (event.type) {
    case 'info':
      return { event: { case: 'info', value: toInfo(event) } };
    case 'audio':
      return { event: { case: 'audio', value: { chunkIndex: event.chunkIndex, audioBytes: event.audio } } };
    case 'timestamps': {
      const { chunkIndex, words, quality } = event;
      return { event: { case: 'timestamps', value: { chunkIndex, words: [...words], quality: toQuality[quality] } } };
    }
    case 'chunk_done': {
      const { type: _, ...done } = event;
      return { event: { case: 'chunkDone', value: done } };
    }
    case 'done': {
      const { chars, seconds, byteCount, audioUrl = '' } = event;
      const value = { chars, duration: toDuration(seconds), byteCount: BigInt(byteCount), audioUrl };
      return { event: { case: 'done', value } };
    }
  }
}

const toInfo = (info: SpeechInfo): MessageInitShape<typeof SpeechInfoSchema> => ({
  audioId: info.audioId,
  voiceId: info.voice.voiceId,
  voiceName: info.voice.name,
  outputFormat: toEnumValue<OutputFormat>(OutputFormatSchema, info.format),
  contentType: info.contentType,
  sampleRateHz: info.sampleRateHz,
  channelCount: 1,
  chunkCount: info.chunkCount,
  chars: info.chars,
  warnings: [...info.warnings],
  audioUrl: info.audioUrl ?? '',
  ...(info.expiresAt && { expireTime: timestampFromDate(info.expiresAt) }),
});

const toQuality = {
  engine: SpeechTimestamps_Quality.ENGINE,
  estimated: SpeechTimestamps_Quality.ESTIMATED,
} as const;

/** To the microsecond, in whole nanoseconds. */
function toDuration(seconds: number) {
  const micros = Math.round(seconds * 1e6);
  return { seconds: BigInt(Math.floor(micros / 1e6)), nanos: (micros % 1e6) * 1000 };
}
