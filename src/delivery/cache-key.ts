// The cache key: a hash of everything that the sound of a request depends on.
import { createHash } from 'node:crypto';
import type { Voice } from '../engines/engine.ts';
import { soundFactsOf } from '../speech/fields.ts';
import type { SpeechRequest } from '../speech/request.ts';

/** Everything that the sound depends on, and whether there are captions with it. */
export function cacheKeyOf(request: SpeechRequest, voice: Voice, { engine, voiceId, version }: Voice): string {
  const facts = [voice.voiceId, voice.version, engine, voiceId, version, request.chunks, ...soundFactsOf(request)];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
}
