// The engine: Google's stock voices, whose list is refreshed from time to time, and clones.
import { Failure } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import { openVoiceList } from '../voice-list.ts';
import { type GoogleLogin, openGoogleClient } from './google-client.ts';
import { createCloning } from './google-cloning.ts';
import { segmentCharsMax, speakSegment } from './google-speech.ts';
import { toVoices } from './google-voices.ts';

export interface GoogleOptions extends GoogleLogin {
  /** Names of voices, or prefixes of names; empty for all voices that stream. */
  voices: readonly string[];
  segmentsPerMinute: number;
  cloneSegmentsPerMinute: number;
  segmentsSpokenMax: number;
  refreshMs?: number;
  /** Whether to fail when the list is not available now. */
  isListNeeded?: boolean;
}

export const engineName = 'google';

export async function openGoogle(options: GoogleOptions): Promise<Engine> {
  const { segmentsPerMinute, cloneSegmentsPerMinute, segmentsSpokenMax } = options;
  const client = await openGoogleClient(options);
  const closing = new AbortController();
  const list = await openVoiceList({
    async load(signal) {
      const voices = toVoices(await client.listVoices(signal), options.voices, engineName);
      if (voices.length > 0) return voices;
      throw new Failure('engine_unavailable', { message: 'Google lists none of the voices wanted' });
    },
    refreshMs: options.refreshMs,
    isNeededNow: options.isListNeeded,
  }).catch(async (error) => {
    await client.close();
    throw error;
  });

  return {
    name: engineName,
    get voices() {
      return list.voices();
    },
    capabilities: {
      speakingRates: { min: 0.25, max: 2 },
      timings: false,
      readsNumbers: true,
      segmentCharsMax,
      // Each call counts in full, however short, and its sound arrives as it is made.
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
      await client.close();
    },
  };
}
