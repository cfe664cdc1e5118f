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
  type SpeechService,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
  type SynthesizeSpeechResponseSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { LiveOperations } from '../api/live-speech.ts';
import type { SpeechOperations } from '../api/speech.ts';
import type { Delivered } from '../delivery/delivery.ts';
import type { FieldViolation } from '../errors.ts';
import { isFreshWanted } from '../net/headers.ts';
import { amount } from '../speech/fields.ts';
import { callOf } from './calls.ts';
import { toLiveInputs, toLiveResponse } from './live-messages.ts';
import { requireText } from './required.ts';
import { parseSpeechMessage, toEnumValue } from './speech-fields.ts';
import { toDuration, toEvent } from './speech-messages.ts';

type Service = ServiceImpl<typeof SpeechService>;

export function createSpeechService(speech: SpeechOperations, live: LiveOperations): Service {
  const streamSpeech: Service['streamSpeech'] = (message, context) => ({
    [Symbol.asyncIterator]() {
      const request = parseSpeechMessage(StreamSpeechRequestSchema, message, 'streaming');
      return mapEach(speech.streamSpeech(callOf(context), request)[Symbol.asyncIterator](), toEvent);
    },
  });

  return {
    async synthesizeSpeech(message, context) {
      const call = callOf(context);
      const violations: FieldViolation[] = [];
      const bytesMax = bufferBytesMax.parse(
        message.bufferBytesMax,
        (reason, text) => void violations.push({ field: 'buffer_bytes_max', reason, message: text }),
      );
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
    async *liveSpeech(messages, context) {
      for await (const event of live.liveSpeech(callOf(context), toLiveInputs(messages))) yield toLiveResponse(event);
    },
    async estimateSpeech(message, context) {
      const request = parseSpeechMessage(EstimateSpeechRequestSchema, message, 'streaming');
      const { seconds, byteCount, segmentCount, warnings, chars } = await speech.estimateSpeech(
        callOf(context),
        request,
      );
      const size = { duration: toDuration(seconds), bytes: BigInt(byteCount), segments: segmentCount };
      return { chars, ...size, warnings: [...warnings] };
    },
    async deleteAudio({ audioId }, context) {
      await speech.deleteAudio(callOf(context), requireText('audio_id', audioId, 'name the audio to delete'));
      return {};
    },
  };
}

/** Without a generator, which would hold every item up three times. */
const mapEach = <From, To>(source: AsyncIterator<From>, map: (item: From) => To): AsyncIterator<To> => {
  const toResult = ({ done, value }: IteratorResult<From>): IteratorResult<To> =>
    done ? { done, value: undefined } : { done: false, value: map(value) };
  return {
    next: () => source.next().then(toResult),
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
};

const bufferBytesMax = amount('buffer_bytes_max');

const describe = (delivered: Delivered) => ({
  id: delivered.audioId,
  voiceId: delivered.voice.voiceId,
  voiceName: delivered.voice.name,
  chars: delivered.chars,
  format: toEnumValue<OutputFormat>(OutputFormatSchema, delivered.format),
  sampleRate: delivered.sampleRateHz,
  duration: toDuration(delivered.seconds),
  cached: delivered.cached,
  warnings: [...delivered.warnings],
});

type Audio = Pick<MessageInitShape<typeof SynthesizeSpeechResponseSchema>, 'audio' | 'expiresAt' | 'captions'>;

const toLink = ({ audioUrl, captionUrls, expiresAt }: Delivered) =>
  ({
    audio: { case: 'audioUrl', value: audioUrl },
    expiresAt: timestampFromDate(expiresAt),
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
