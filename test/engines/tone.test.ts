// Tests that the tone engine keeps the contract, as an example for other engines.
import { engineConformance } from '../conformance/engine.ts';
import { defineTone, openTone } from './tone-engine.ts';

engineConformance('tone', async () => openTone({ blends: true }));
engineConformance('tone at 11025 Hz', () => defineTone({ sampleRateHz: 11_025 }).open({}, ''));
