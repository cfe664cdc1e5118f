// Which requests receive failures in the form of another vendor's API, also where there is no such route.
import type { FailureForm } from '../http/http-app.ts';
import { toOpenAiReply } from '../http/openai-failure.ts';
import { toFailureReply } from '../net/failure-reply.ts';
import { cartesiaHeader, toCartesiaReply } from './cartesia/cartesia-failure.ts';
import { elevenLabsHeader, toElevenLabsReply } from './elevenlabs/elevenlabs-failure.ts';

/** OpenAI and ElevenLabs both have paths below /v1, Cartesia any. */
export const failureForms: readonly FailureForm[] = [
  ['/api', toFailureReply],
  ['/v1/text-to-speech', toElevenLabsReply],
  ['/v1/voices', toElevenLabsReply],
  ['/v2', toElevenLabsReply],
  ['/v1', toElevenLabsReply, elevenLabsHeader],
  ['/v1', toOpenAiReply],
  ['/tts', toCartesiaReply],
  ['/voices', toCartesiaReply],
  ['', toCartesiaReply, cartesiaHeader],
];
