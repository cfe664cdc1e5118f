// The engine: Google's stock voices, listed again from time to time, and clones of people.
import { Failure } from '../../errors.ts';
import type { Engine, Voice } from '../engine.ts';
import { type GoogleClient, type GoogleLogin, openGoogleClient } from './google-client.ts';
import { createCloning } from './google-cloning.ts';
import { saySegment, segmentCharsMax } from './google-speech.ts';
import { toVoices } from './google-voices.ts';

export interface GoogleOptions extends GoogleLogin {
  /** Names of voices, or how they begin; empty for all that stream. */
  voices: readonly string[];
  segmentsPerMinute: number;
  cloneSegmentsPerMinute: number;
  segmentsSpokenMax: number;
  refreshMs?: number;
  /** Whether to fail where the list cannot be had now. */
  needsList?: boolean;
}

export const engineName = 'google';
const askMs = 20_000;
const refreshMsUsual = 6 * 3_600_000;
/** How soon the list is asked for again that did not come at the start. */
const firstListMs = 30_000;
const none: readonly Voice[] = [];

export async function openGoogle(options: GoogleOptions): Promise<Engine> {
  const { segmentsPerMinute, cloneSegmentsPerMinute, segmentsSpokenMax } = options;
  const client = await openGoogleClient(options);
  const closing = new AbortController();
  const voices = await openVoices(client, options, closing.signal).catch(async (error) => {
    await client.close();
    throw error;
  });

  return {
    name: engineName,
    get voices() {
      return voices.list();
    },
    capabilities: {
      speakingRates: { min: 0.25, max: 2 },
      timings: false,
      readsNumbers: true,
      segmentCharsMax,
      // A call is a call, however short, and its sound comes while it is made.
      firstSegmentCharsMax: segmentCharsMax,
      segmentsAtOnce: 2,
      segmentsSpokenMax,
      segmentsPerMinute,
      cloneSegmentsPerMinute,
    },
    cloning: createCloning(client, closing.signal),
    async *speak(segment, callersSignal) {
      const signal = AbortSignal.any([callersSignal, closing.signal]);
      signal.throwIfAborted();
      yield* saySegment(client, segment, signal);
    },
    async close() {
      closing.abort(new Failure('engine_unavailable'));
      voices.close();
      await client.close();
    },
  };
}

/**
 * Google's list, as it was when it last came; one that does not come, or comes empty, takes nobody's voice away. Where
 * Google cannot be reached at the start, clones and voices of other engines are not kept waiting for its list.
 */
async function openVoices(client: GoogleClient, options: GoogleOptions, closing: AbortSignal) {
  const ask = async (): Promise<readonly Voice[]> => {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(askMs)]);
    return toVoices(await client.listVoices(signal), options.voices, engineName);
  };
  let voices = await ask().catch((error) => {
    const passes = error instanceof Failure && error.facts.retryAfterSeconds !== undefined;
    if (passes && !options.needsList) return undefined;
    throw error;
  });
  if (voices?.length === 0) {
    throw new Failure('engine_unavailable', { message: 'Google lists none of the voices wanted' });
  }
  let refreshing: NodeJS.Timeout;
  const refresh = async () => {
    const listed = await ask().catch(() => []);
    if (listed.length > 0 && JSON.stringify(listed) !== JSON.stringify(voices)) voices = listed;
    if (!closing.aborted) plan();
  };
  const plan = () => {
    const { refreshMs = refreshMsUsual } = options;
    refreshing = setTimeout(refresh, voices ? refreshMs : Math.min(refreshMs, firstListMs)).unref();
  };
  plan();
  return { list: () => voices ?? none, close: () => clearTimeout(refreshing) };
}
