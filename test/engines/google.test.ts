// The Google engine keeps the contract, and what it owes to Google, however Google behaves.
import { afterAll } from 'vitest';
import { type GoogleOptions, openGoogle } from '../../src/engines/google/google-engine.ts';
import { engineConformance } from '../conformance/engine.ts';
import { openGoogleServer } from './google-server.ts';

const options = (endpoint: string): GoogleOptions => ({
  credentials: '',
  endpoint,
  voices: ['en-US', 'cmn-CN', 'en-GB-Neural2'],
  segmentsPerMinute: 200,
  cloneSegmentsPerMinute: 30,
  segmentsSpokenMax: 100,
});

engineConformance('google', async () => {
  const { endpoint } = await openGoogleServer({}, afterAll);
  return openGoogle(options(endpoint));
});
