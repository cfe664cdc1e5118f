// Tests that a broken optional engine is skipped and reported.
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { defineEngine } from '../../src/engines/engine.ts';
import { flite } from '../../src/engines/flite/flite.ts';
import { openSpeech } from '../../src/speech/open-speech.ts';

const fault = new Error('the library is missing');
const broken = defineEngine({
  name: 'broken',
  isOptional: true,
  settings: {},
  inspect: async () => ({ state: 'broken', message: fault.message }),
  open: async () => {
    throw fault;
  },
});

test('an optional engine that is broken is left out and reported', async () => {
  const definitions = [flite, broken];
  const config = loadConfig({ env: {}, folder: tmpdir(), engines: definitions });
  const logged: unknown[] = [];
  const speech = await openSpeech({ config, definitions, log: (...each) => void logged.push(each) });
  const engines = speech.engines.map(({ name }) => name);
  await speech.close();
  const told = ['warn', 'engine unavailable; continuing without it', { engine: 'broken', fault }];
  expect({ engines, logged }).toEqual({ engines: ['flite'], logged: [told] });
});
