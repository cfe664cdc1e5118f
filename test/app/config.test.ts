// Tests the configuration: where values come from, and that all mistakes are reported at once.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { allSettings, ConfigError, loadConfig } from '../../src/app/config.ts';
import { registry } from '../../src/engines/registry.ts';
import { defineTone } from '../engines/tone-engine.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const load = (env: Record<string, string> = {}) => loadConfig({ env, folder, engines: registry });

const mistakesOf = (env: Record<string, string>) => {
  try {
    load(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
};

test('with nothing given, every setting has its default', () => {
  const config = load();
  expect(config.dataDir).toBe(join(folder, 'data'));
  expect(config.speakingMax).toBe(64);
  expect(config.inForce.every(({ source }) => source === 'default')).toBe(true);
  expect(Object.isFrozen(config)).toBe(true);
});

test('the environment goes before .env, and .env before sonant.toml', () => {
  writeFileSync(join(folder, 'sonant.toml'), 'speaking_max = 1\nwaiting_max = 1\ndata_dir = "/toml"\n');
  writeFileSync(join(folder, '.env'), '# ours and others\nSONANT_SPEAKING_MAX=2\nSONANT_WAITING_MAX=2\nOTHER=1\n');
  const config = load({ SONANT_SPEAKING_MAX: '3', HOME: '/root' });
  expect([config.speakingMax, config.waitingMax, config.dataDir]).toEqual([3, 2, '/toml']);
  const sources = config.inForce.filter(({ source }) => source !== 'default').map(({ source }) => source);
  expect(sources).toEqual(['sonant.toml', 'environment', '.env']);
});

test('a table of sonant.toml holds the settings of an engine', () => {
  const [setting] = Object.values(registry[0]!.settings);
  const [table, ...key] = setting!.name.replace('SONANT_', '').toLowerCase().split('_');
  writeFileSync(join(folder, 'sonant.toml'), `[${table}]\n${key.join('_')} = 2\n`);
  expect(Object.values(load().engines[registry[0]!.name]!).map(String)).toContain('2');
});

test('every mistake is reported at once, with its name, what was given, where, and what is allowed', () => {
  writeFileSync(join(folder, 'sonant.toml'), 'waiting_max = "many"\nspeeking_max = 4\n');
  const error = mistakesOf({ SONANT_SPEAKING_MAX: '0', SONANT_TYPO: 'x' });
  expect(error.mistakes.map(({ name, given, source }) => [name, given, source])).toEqual([
    ['SONANT_TYPO', '...', 'environment'],
    ['SONANT_SPEEKING_MAX', '...', 'sonant.toml'],
    ['SONANT_SPEAKING_MAX', '0', 'environment'],
    ['SONANT_WAITING_MAX', 'many', 'sonant.toml'],
  ]);
  expect(error.message).toContain('SONANT_SPEAKING_MAX = 0 (environment): must be a whole number from 1 to 10000');
});

test('a sonant.toml that is not TOML is a mistake like any other', () => {
  writeFileSync(join(folder, 'sonant.toml'), 'data_dir = \n');
  expect(mistakesOf({ SONANT_SPEAKING_MAX: '-1' }).mistakes.map(({ name }) => name)).toEqual([
    'sonant.toml',
    'SONANT_SPEAKING_MAX',
  ]);
});

test.each([
  ['speaking_max = 3\ndata_dir = ./here', 'line 2, column 12\\): a value must be'],
  ['data_dir = "a\n', 'line 1, .*: quoted text must end'],
  ['key_pepper = "hunter2', 'line 1, .*: quoted text must end'],
  ['speaking_max = 1\nspeaking_max = 2', 'line 2, .*: this setting already has a value'],
  ['speaking_max = 1 2', 'line 1, .*: a line must contain only one setting'],
  ['hello', 'line 1, .*: a line must be like'],
])('what is wrong with the TOML %j is told with its place and without its text', (toml, words) => {
  writeFileSync(join(folder, 'sonant.toml'), toml);
  const { message } = mistakesOf({});
  expect(message).toMatch(new RegExp(`sonant\\.toml \\(.*sonant\\.toml, ${words}`));
  expect(message).not.toMatch(/hunter2|TOML document/);
});

test('a setting given twice, an empty folder and an unreadable .env are mistakes', () => {
  writeFileSync(join(folder, 'sonant.toml'), 'speaking_max = 1\n[speaking]\nmax = 2\n');
  mkdirSync(join(folder, '.env'));
  expect(mistakesOf({ SONANT_DATA_DIR: ' ' }).mistakes.map(({ name }) => name)).toEqual([
    '.env',
    'SONANT_SPEAKING_MAX',
    'SONANT_DATA_DIR',
  ]);
});

test('what Kubernetes puts beside a service of this name is no mistake', () => {
  load({ SONANT_SERVICE_HOST: '10.0.0.1', SONANT_PORT: 'tcp://10.0.0.1:80', SONANT_PORT_80_TCP_PROTO: 'tcp' });
  expect(mistakesOf({ SONANT_PORT: '80' }).mistakes).toHaveLength(1);
});

test('the API key of the examples may be set beside the settings', () => {
  expect(() => load({ SONANT_API_KEY: 'sk_sonant_example' })).not.toThrow();
});

test('every setting has a name of its own, help and a default that it allows', () => {
  const settings = allSettings(registry);
  expect(new Set(settings.map(({ name }) => name)).size).toBe(settings.length);
  for (const { help, fallback, parse } of settings) {
    expect(help).not.toBe('');
    expect(String(parse(String(fallback)))).toBe(String(fallback));
  }
});

test('an engine that is not in the registry brings its settings along', () => {
  const config = loadConfig({ env: {}, folder, engines: [...registry, defineTone()] });
  expect(config.engines).toHaveProperty('tone');
});

test.each([
  ['SONANT_HTTP_PORT', 'SONANT_HTTP_ADDR'],
  ['SONANT_PORT', 'SONANT_HTTP_ADDR'],
  ['SONANT_LOGLEVEL', 'SONANT_LOG_LEVEL'],
  ['SONANT_DATABASE', 'SONANT_DATABASE_URL'],
  ['SONANT_QQQ', undefined],
])('%s is told to be %s', (name, meant) => {
  const { message } = mistakesOf({ [name]: '1' });
  expect(/unknown setting; did you mean (\w+)\?/.exec(message)?.[1]).toBe(meant);
});
