// Google Cloud Text-to-Speech: stock voices, whose list is refreshed periodically, and clones. A configured login
// enables the engine.
import { toFloat, wavFile } from '../../audio.ts';
import { Failure, invalidField, toFailure } from '../../platform/errors.ts';
import { parseAnswer, readUpTo } from '../../platform/net/upstream-answer.ts';
import type { Pcm } from '../../platform/pcm.ts';
import { integerSetting, listSetting, textSetting } from '../../platform/runtime/setting-types.ts';
import {
  type CloneSample,
  type Cloning,
  defineEngine,
  type Engine,
  type EngineLog,
  type EngineReport,
} from '../engine.ts';
import { openVoiceList } from '../voice-list.ts';
import {
  type GoogleClient,
  type GoogleLogin,
  googleFailure,
  openGoogleClient,
  toGoogleStatus,
} from './google-client.ts';
import { segmentCharsMax, speakSegment } from './google-speech.ts';
import { consentScripts, languagesOfAmericans, toGoogleLanguage, toVoices } from './google-voices.ts';

// Instant custom voice: creates a cloning key from two recordings. The call exists only as a REST method of v1beta1,
// for projects that Google has admitted. The key is the voice: anyone who has the key can speak with the voice. No
// Failure contains the key, and bodies with status 200 are never quoted.
//     POST /v1beta1/voices:generateVoiceCloningKey
//     {"reference_audio": {"audio_config": {"audio_encoding": "LINEAR16", "sample_rate_hertz"}, "content": base64 of WAV},
//      "voice_talent_consent": likewise, "consent_script", "language_code"}   answers   {"voiceCloningKey"}

const cloningPath = '/v1beta1/voices:generateVoiceCloningKey';
const makeMsMax = 60_000;
/** Google's quota per project. */
const clonesPerMinute = 10;
const keyCharsMax = 1 << 20;
const answerBytesMax = 2 << 20;

function createCloning(client: GoogleClient, closing: AbortSignal): Cloning {
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
    const response = await fetch(client.url + cloningPath, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal,
    });
    status = response.status;
    answer = parseAnswer(await readUpTo(response, answerBytesMax)) as typeof answer;
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
  return invalidField(violation.field, 'format', violation.message, failure.cause);
}

const name = 'google';

export interface GoogleOptions extends GoogleLogin {
  /** Names or prefixes of voices; empty for all streaming voices. */
  voices: readonly string[];
  segmentsPerMinute: number;
  cloneSegmentsPerMinute: number;
  segmentsSpokenMax: number;
  refreshMs?: number;
  /** Whether opening the engine fails if the list is not available. */
  isListNeeded?: boolean;
}

export async function openGoogle(options: GoogleOptions, log?: EngineLog): Promise<Engine> {
  const { segmentsPerMinute, cloneSegmentsPerMinute, segmentsSpokenMax } = options;
  const client = await openGoogleClient(options);
  const closing = new AbortController();
  const list = await openVoiceList({
    server: { engine: name, log },
    async load(signal) {
      const voices = toVoices(await client.listVoices(signal), options.voices, name);
      if (voices.length > 0) return voices;
      throw new Failure('engine_unavailable', { message: 'Google lists none of the voices of SONANT_GOOGLE_VOICES' });
    },
    refreshMs: options.refreshMs,
    isNeededNow: options.isListNeeded,
  }).catch((error) => {
    client.close();
    throw error;
  });

  return {
    name,
    get voices() {
      return list.voices();
    },
    capabilities: {
      speakingRates: { min: 0.25, max: 2 },
      timings: false,
      readsNumbers: true,
      segmentCharsMax,
      // A short first segment gains nothing: each call counts towards the quota, and audio arrives as it is generated.
      firstSegmentCharsMax: segmentCharsMax,
      segmentsAtOnce: 2,
      segmentsSpokenMax,
      segmentsPerMinute,
      cloneSegmentsPerMinute,
    },
    cloning: createCloning(client, closing.signal),
    speak: (segment, signal) => speakSegment(client, segment, signal),
    async close() {
      closing.abort(new Failure('engine_unavailable'));
      list.close();
      client.close();
    },
  };
}

const isHost = (given: string) => /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?$/i.test(given);
const isHere = (given: string) => /^http:\/\/(localhost|127\.0\.0\.1|\[::1\]):\d{1,5}$/.test(given);

const isWanted = ({ credentials, endpoint }: GoogleOptions): boolean => credentials !== '' || isHere(endpoint);

/** The reason why the engine does not work, for the operator. Never contains credentials. */
function whyNot(error: unknown, { endpoint }: GoogleOptions): string {
  const { message, facts, cause } = toFailure(error);
  return facts.message ?? `${endpoint}: ${(cause as Error | undefined)?.message ?? message}`;
}

async function open(options: GoogleOptions, log?: EngineLog) {
  if (!isWanted(options)) return undefined;
  try {
    return await openGoogle(options, log);
  } catch (error) {
    throw new Failure('engine_unavailable', { message: whyNot(error, options) }, toFailure(error).cause);
  }
}

async function inspect(options: GoogleOptions): Promise<EngineReport> {
  try {
    const engine = await open({ ...options, isListNeeded: true });
    if (!engine) return { state: 'absent', message: 'SONANT_GOOGLE_CREDENTIALS is not set' };
    await engine.close();
    return { state: 'ready', message: `${options.endpoint}, ${engine.voices.length} voices` };
  } catch (error) {
    return { state: 'broken', message: toFailure(error).message };
  }
}

export const google = defineEngine({
  name,
  isOptional: true,
  settings: {
    credentials: textSetting({
      name: 'SONANT_GOOGLE_CREDENTIALS',
      // A file of the type external_account names a file, a program or a URL with the credentials.
      explicitOnly: true,
      help: 'JSON key file of a Google Cloud service account, or adc for the login of the environment',
    }),
    endpoint: textSetting({
      name: 'SONANT_GOOGLE_ENDPOINT',
      help: 'Host of Google Text-to-Speech, such as eu-texttospeech.googleapis.com',
      allowed: 'a host, or http://127.0.0.1:PORT for an emulator without login',
      fallback: 'texttospeech.googleapis.com',
      isAllowed: (given) => isHost(given) || isHere(given),
    }),
    voices: listSetting({
      name: 'SONANT_GOOGLE_VOICES',
      help: 'Google voices to offer, by name or by the start of names, such as en-US; default: all of Chirp 3 HD',
      allowed: 'names such as en-US-Chirp3-HD-Charon or en-GB-Neural2, separated by commas',
      isItem: (item) => /^[\x21-\x7e]{1,128}$/.test(item),
    }),
    segmentsPerMinute: integerSetting({
      name: 'SONANT_GOOGLE_PER_MINUTE',
      help: 'Requests a minute that the quota at Google allows',
      range: [1, 100_000],
      fallback: 200,
    }),
    cloneSegmentsPerMinute: integerSetting({
      name: 'SONANT_GOOGLE_CLONES_PER_MINUTE',
      help: 'Requests a minute for clones that the quota at Google allows',
      range: [1, 100_000],
      fallback: 30,
    }),
    segmentsSpokenMax: integerSetting({
      name: 'SONANT_GOOGLE_AT_ONCE',
      help: 'Requests at once that the quota at Google allows',
      range: [1, 10_000],
      fallback: 100,
    }),
  },
  inspect: (settings) => inspect(settings),
  open: (settings, _dataDir, log) => open(settings, log),
});
