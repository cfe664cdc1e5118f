// sonant.v1.SpeechService: makes requests of messages, and messages of results.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  CaptionFormatSchema,
  EstimateSpeechRequestSchema,
  type LiveSpeechRequest,
  SpeechService,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
  type SynthesizeSpeechResponseSchema,
} from '../../../gen/sonant/v1/speech_pb.ts';
import {
  callUnary,
  describe,
  type LiveInput,
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
    async *streamSpeech(message, context) {
      const request = toRequest(StreamSpeechRequestSchema, message);
      for await (const event of await speech.streamSpeech(callOf(context), request)) yield toStreamResponse(event);
    },
    async *liveSpeech(messages, context) {
      for await (const event of live.liveSpeech(callOf(context), toLiveInputs(messages))) yield toLiveResponse(event);
    },
    async estimateSpeech(message, context) {
      const request = toRequest(EstimateSpeechRequestSchema, message);
      return toEstimateResponse(await speech.estimateSpeech(callOf(context), request));
    },
    deleteAudio: (message, context) => callUnary(SpeechService.method.deleteAudio, speech, message, callOf(context)),
  };
}

async function* toLiveInputs(messages: AsyncIterable<LiveSpeechRequest>): AsyncGenerator<LiveInput> {
  for await (const message of messages) yield toLiveInput(message);
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
