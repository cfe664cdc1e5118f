// Google Cloud Text-to-Speech: stock voices, whose list is refreshed periodically, and clones. A configured login
// enables the engine.
import { Failure, toFailure } from '../../platform/errors.ts';
import { integerSetting, listSetting, textSetting } from '../../platform/runtime/setting-types.ts';
import { defineEngine, type Engine, type EngineLog, type EngineReport } from '../engine.ts';
import { openVoiceList } from '../voice-list.ts';
import { type GoogleLogin, openGoogleClient } from './google-client.ts';
import { createCloning } from './google-cloning.ts';
import { segmentCharsMax, speakSegment } from './google-speech.ts';
import { toVoices } from './google-voices.ts';

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
