// sonant.v1.SpeechService: makes requests of messages, and messages of results.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  CaptionFormatSchema,
  EstimateSpeechRequestSchema,
  SpeechService,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
  type SynthesizeSpeechResponseSchema,
} from '../../../gen/sonant/v1/speech_pb.ts';
import {
  callUnary,
  describe,
  type LiveOperations,
  type SpeechOperations,
  toDuration,
  toEnum,
  toEstimateResponse,
  toLiveInput,
  toLiveResponse,
  toStreamResponse,
} from '../../api.ts';
import type { Clip } from '../../clips.ts';
import { mapped } from '../../platform/runtime/mapped.ts';
import { toRequest } from '../../speech.ts';
import { isFreshWanted } from '../net/headers.ts';
import { callOf } from './calls.ts';

export function createSpeechService(speech: SpeechOperations, live: LiveOperations): ServiceImpl<typeof SpeechService> {
  return {
    async synthesizeSpeech(message, context) {
      const request = toRequest(SynthesizeSpeechRequestSchema, message);
      const call = callOf(context);
      const fresh = isFreshWanted(context.requestHeader.get('cache-control'));
      const { bufferBytesMax: inlineBytesMax } = request;
      const delivered = await speech.synthesizeSpeech(call, request, { fresh, inlineBytesMax });
      const { chars, charsCharged, seconds, cached } = delivered;
      context.responseHeader.set('x-speech-check', delivered.speechCheck);
      const sound = request.returnFormat === 'url' ? toLink(delivered) : await inline(delivered, call.signal);
      return { ...describe(delivered), chars, charsCharged, duration: toDuration(seconds), cached, ...sound };
    },
    streamSpeech(message, context) {
      const open = () => speech.streamSpeech(callOf(context), toRequest(StreamSpeechRequestSchema, message));
      return mapped(open, { convert: toStreamResponse });
    },
    liveSpeech(messages, context) {
      const inputs = mapped(() => messages, { convert: (message) => toLiveInput(message) });
      return mapped(() => live.liveSpeech(callOf(context), inputs), { convert: toLiveResponse });
    },
    async estimateSpeech(message, context) {
      const request = toRequest(EstimateSpeechRequestSchema, message);
      return toEstimateResponse(await speech.estimateSpeech(callOf(context), request));
    },
    deleteAudio: (message, context) => callUnary(SpeechService.method.deleteAudio, speech, message, callOf(context)),
  };
}

type Sound = Pick<MessageInitShape<typeof SynthesizeSpeechResponseSchema>, 'audio' | 'expiresAt' | 'captions'>;

const toLink = ({ audioUrl, captionUrls, expiresAt }: Clip): Sound => ({
  audio: { case: 'audioUrl', value: audioUrl },
  expiresAt: timestampFromDate(expiresAt),
  captions: Object.entries(captionUrls).map(([kind, url]) => ({ format: toEnum(CaptionFormatSchema, kind), url })),
});

async function inline(delivered: Clip, signal: AbortSignal): Promise<Sound> {
  const pieces: Uint8Array[] = [];
  for await (const piece of delivered.open()) {
    signal.throwIfAborted();
    pieces.push(piece);
  }
  return { audio: { case: 'audioBytes', value: Buffer.concat(pieces) } };
}
