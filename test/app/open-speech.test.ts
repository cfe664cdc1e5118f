// Tests that a broken optional engine is skipped and reported, or stops startup if it is configured.
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { defineEngine } from '../../src/engines/engine.ts';
import { flite } from '../../src/engines/flite/flite.ts';
import { integerSetting } from '../../src/platform/runtime/setting-types.ts';
import { openSpeech } from '../../src/speech/open-speech.ts';

const fault = new Error('the library is missing');
const broken = defineEngine({
  name: 'broken',
  isOptional: true,
  settings: { count: integerSetting({ name: 'SONANT_BROKEN', help: 'any', range: [1, 9], fallback: 1 }) },
  inspect: async () => ({ state: 'broken', message: fault.message }),
  open: async () => {
    throw fault;
  },
});

const open = async (env: Record<string, string>) => {
  const definitions = [flite, broken];
  const config = loadConfig({ env, folder: tmpdir(), engines: definitions });
  const logged: unknown[] = [];
  const speech = await openSpeech({ config, definitions, log: (...each) => void logged.push(each) });
  const engines = speech.engines.map(({ name }) => name);
  await speech.close();
  return { engines, logged };
};

test('an optional engine that is broken is left out and reported', async () => {
  const logged = [['warn', 'engine unavailable; continuing without it', { engine: 'broken', fault }]];
  expect(await open({})).toEqual({ engines: ['flite'], logged });
});

test('an optional engine that is broken and configured stops the start', async () => {
  await expect(open({ SONANT_BROKEN: '2' })).rejects.toBe(fault);
});
