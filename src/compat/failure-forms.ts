// Which requests receive failures in the format of another vendor's API, even if no route exists for them.
import type { FailureForm } from '../http/http-app.ts';
import { toOpenAiReply } from '../http/openai/failure-reply.ts';
import { toFailureReply } from '../net/failure-reply.ts';
import { cartesiaHeader, toCartesiaReply } from './cartesia/failure-reply.ts';
import { elevenLabsHeader, toElevenLabsReply } from './elevenlabs/failure-reply.ts';

/** OpenAI and ElevenLabs both have paths below /v1; Cartesia's may be anywhere. */
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
