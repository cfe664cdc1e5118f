// Computes the cache key: a hash of everything that the audio of a request depends on. The key needs only the request
// and its voices, so that the cache can be searched before the text is cut.
import { hash } from 'node:crypto';
import type { Origin } from '../audio.ts';
import type { Voice } from '../engines.ts';
import type { SpeechRequest } from './request.ts';

interface Speakers {
  /** The voices as callers know them, and the engine voices that speak. */
  speakers: readonly { voice: Voice; speaker: Voice }[];
  lexiconVersions: readonly string[];
  /** The origin that the file states. */
  origin: Origin | undefined;
}

export function hashOfSound(request: SpeechRequest, { speakers, lexiconVersions, origin }: Speakers): string {
  const versions = speakers.map(({ voice, speaker: { engine, voiceId, version } }) => {
    return [voice.voiceId, voice.version, engine, voiceId, version];
  });
  const texts = request.texts.map(({ source }) => source);
  return hash('sha256', JSON.stringify([versions, texts, soundFactsOf(request), lexiconVersions, origin]), 'base64url');
}

/**
 * The fields that change the audio. A field is left out only if it is named here, so that a new field of the protos is
 * a part of the key. An undefined value is left out, so that a new field does not invalidate existing keys.
 */
function soundFactsOf(request: SpeechRequest): unknown[] {
  const { method, voiceId, returnFormat, texts, textField, chars, pauseMs, lexiconIds, ...rest } = request;
  const { timestamps, captions, bufferBytesMax, bufferMs, disclosure, ...facts } = rest;
  // Stored captions can be returned in every format, so the key states only whether there are captions.
  const all = Object.entries({ ...facts, hasCaptions: captions.length > 0 });
  return all.filter(([, value]) => value !== undefined).sort(([one], [other]) => (one < other ? -1 : 1));
}
