// Instant custom voice: creates a cloning key from two recordings. The call exists only as a REST method of v1beta1,
// for projects that Google has admitted. The key is the voice: anyone who has the key can speak with the voice. No
// Failure contains the key, and bodies with status 200 are never quoted.
//     POST /v1beta1/voices:generateVoiceCloningKey
//     {"reference_audio": {"audio_config": {"audio_encoding": "LINEAR16", "sample_rate_hertz"}, "content": base64 of WAV},
//      "voice_talent_consent": likewise, "consent_script", "language_code"}   answers   {"voiceCloningKey"}

import { toFloat, wavFile } from '../../audio.ts';
import { Failure } from '../../platform/errors.ts';
import type { Pcm } from '../../platform/pcm.ts';
import type { CloneSample, Cloning } from '../engine.ts';
import { type GoogleClient, googleFailure, toGoogleStatus } from './google-client.ts';
import { readUpTo } from './google-login.ts';
import { consentScripts, languagesOfAmericans, toGoogleLanguage } from './google-voices.ts';

const path = '/v1beta1/voices:generateVoiceCloningKey';
const makeMsMax = 60_000;
/** Google's quota per project. */
const clonesPerMinute = 10;
const keyCharsMax = 1 << 20;
const answerBytesMax = 2 << 20;

export function createCloning(client: GoogleClient, closing: AbortSignal): Cloning {
  return {
    sampleLanguageCodes: Object.keys(consentScripts),
    languageCodesFor: (sampleLanguageCode) => (sampleLanguageCode === 'en-US' ? languagesOfAmericans : []),
    sampleRateHz: 24_000,
    sampleSeconds: { min: 5, max: 10 },
    clonesPerMinute,
    needsReferenceText: false,
    consentScripts,
    async make(sample, callersSignal) {
      const patience = AbortSignal.timeout(makeMsMax);
      const left = AbortSignal.any([callersSignal, closing]);
      left.throwIfAborted();
      try {
        return Buffer.from(await requestKey(client, sample, AbortSignal.any([left, patience])));
      } catch (error) {
        left.throwIfAborted();
        if (patience.aborted) throw new Failure('engine_timeout', {}, new Error('Google returned no cloning key'));
        throw error;
      }
    },
  };
}

async function requestKey(client: GoogleClient, sample: CloneSample, signal: AbortSignal): Promise<string> {
  const headers = await client.signIn(signal);
  headers.set('Content-Type', 'application/json');
  const body = JSON.stringify({
    reference_audio: toAudio(sample.reference),
    voice_talent_consent: toAudio(sample.consent),
    consent_script: sample.consentScript,
    language_code: toGoogleLanguage(sample.languageCode),
  });
  let status: number;
  let answer: { voiceCloningKey?: unknown } | undefined;
  try {
    const response = await fetch(client.url + path, { method: 'POST', headers, body, redirect: 'manual', signal });
    status = response.status;
    answer = await readAnswer(response);
  } catch (error) {
    throw new Failure('engine_unavailable', { retryAfterSeconds: 0 }, new Error((error as Error).message));
  }
  signal.throwIfAborted();
  if (status !== 200) throw refusalOf(status, answer);
  const key = answer?.voiceCloningKey;
  if (typeof key !== 'string' || key === '' || key.length > keyCharsMax) {
    throw new Failure('engine_error', {}, new Error('Google answered without a cloning key'));
  }
  return key;
}

async function readAnswer(response: Response): Promise<{ voiceCloningKey?: unknown } | undefined> {
  try {
    return JSON.parse((await readUpTo(response, answerBytesMax)).toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function toAudio({ samples, sampleRateHz }: Pcm) {
  const file = wavFile(toFloat(samples, 0), sampleRateHz);
  const audio_config = { audio_encoding: 'LINEAR16', sample_rate_hertz: sampleRateHz };
  return { audio_config, content: Buffer.from(file).toString('base64') };
}

/** Only rejected recordings are faults that the caller can correct. */
function refusalOf(httpStatus: number, answer: unknown): Failure {
  const failure = googleFailure(toGoogleStatus(httpStatus, answer));
  if (httpStatus !== 400) return failure;
  const isOfConsent = /consent|script/i.test(JSON.stringify(answer ?? ''));
  const violation = isOfConsent
    ? { field: 'consent_audio', message: 'must be the same speaker reading the consent sentence exactly' }
    : { field: 'reference_audio', message: 'cannot be used to create a voice; record clear speech of one person' };
  return new Failure('invalid_request', { details: [{ ...violation, reason: 'format' }] }, failure.cause);
}
