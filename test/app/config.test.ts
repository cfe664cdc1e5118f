// Tests the configuration: where values come from, and that all mistakes are reported at once.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { allSettings, loadConfig } from '../../src/app/config.ts';
import { registry } from '../../src/engines/registry.ts';
import { ConfigError } from '../../src/platform/runtime/config-mistakes.ts';
import { defineTone } from '../engines/tone-engine.ts';
import { newFolder } from '../new-folder.ts';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

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
  writeFileSync(join(folder, 'sonant.toml'), 'speaking_max = 1\nwaiting_max = 1\nSONANT_BASE_URL = "https://toml"\n');
  writeFileSync(join(folder, '.env'), '# ours and others\nSONANT_SPEAKING_MAX=2\nSONANT_WAITING_MAX=2\nOTHER=1\n');
  const config = load({ SONANT_SPEAKING_MAX: '3', HOME: '/root' });
  expect([config.speakingMax, config.waitingMax, config.baseUrl]).toEqual([3, 2, 'https://toml']);
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
  const twice = 'key_pepper = "hunter1"\nSONANT_KEY_PEPPER = "hunter2"\n';
  writeFileSync(join(folder, 'sonant.toml'), `${twice}speaking_max = 1\n[speaking]\nmax = 2\n`);
  mkdirSync(join(folder, '.env'));
  const { mistakes, message } = mistakesOf({ SONANT_DATA_DIR: ' ' });
  expect(mistakes.map(({ name }) => name)).toEqual([
    '.env',
    'SONANT_KEY_PEPPER',
    'SONANT_SPEAKING_MAX',
    'SONANT_DATA_DIR',
  ]);
  expect(message).not.toContain('hunter');
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

test('a removed setting is refused with what to use instead', () => {
  expect(mistakesOf({ SONANT_REDIS_URL: 'redis://localhost' }).message).toContain('share limits; delete it');
});

/** Settings that name a file, a folder, a program or an address, but make Sonant neither run code nor open files of the user. */
const harmless = [
  ...['SONANT_HTTP_ADDR', 'SONANT_GRPC_ADDR', 'SONANT_ADMIN_ADDR', 'SONANT_BASE_URL', 'SONANT_CORS_ORIGINS'],
  ...['SONANT_TLS_CERT', 'SONANT_TLS_KEY', 'SONANT_PROVENANCE_CERT', 'SONANT_PROVENANCE_KEY', 'SONANT_FIRST_KEY_FILE'],
  ...['SONANT_OIDC_ISSUER', 'SONANT_OIDC_CLIENT_ID', 'SONANT_DATABASE_URL', 'SONANT_S3_ENDPOINT'],
  ...['SONANT_S3_BUCKET', 'SONANT_S3_PREFIX', 'SONANT_S3_PUBLIC_URL', 'SONANT_S3_LINKS', 'SONANT_AUDIO_MIB_MAX'],
  ...['SONANT_MASTER_KEY', 'SONANT_SECRET', 'SONANT_MODELS_URL', 'SONANT_MODELS_OFFLINE', 'SONANT_WEBHOOK_ALLOW'],
  ...[
    'SONANT_VOICES_PER_ACCOUNT',
    'SONANT_LEAVE_SECONDS',
    'SONANT_DEFAULT_VOICE',
    'SONANT_PROVENANCE',
    'SONANT_PROVENANCE_OPERATOR',
    'SONANT_OPENAI_URL',
    'SONANT_TRANSCRIPTION_URL',
    'SONANT_OPENAI_FORMAT',
    'SONANT_GOOGLE_ENDPOINT',
  ],
];

test('every setting that names a file, a library or a URL is marked, or known to be harmless', () => {
  const settings = allSettings(registry).filter(({ name }) => name.startsWith('SONANT_'));
  const names = (isWanted: (setting: (typeof settings)[number]) => boolean) =>
    settings.filter(isWanted).map(({ name }) => name);
  const suspicious = names(({ help, allowed }) =>
    /path|file|folder|librar|program|command|URL|URI/i.test(help + allowed),
  );
  const marked = names(({ explicitOnly }) => explicitOnly === true);
  expect(suspicious.filter((name) => ![...harmless, ...marked].includes(name))).toEqual([]);
  expect(marked.sort()).toEqual([
    'SONANT_DATA_DIR',
    'SONANT_ESPEAK_LIBRARY',
    'SONANT_FIRST_KEY_FILE',
    'SONANT_GOOGLE_CREDENTIALS',
    'SONANT_MODELS',
  ]);
});

test('a file in the current folder names no library, program or folder of data; a file that is named may', () => {
  const names = allSettings(registry).filter(({ explicitOnly }) => explicitOnly);
  for (const { name } of names) {
    const toml = `${name.replace('SONANT_', '').toLowerCase()} = "./evil.json"\n`;
    for (const [file, text] of [
      ['sonant.toml', toml],
      ['.env', `${name}=./evil.json\n`],
    ] as const) {
      writeFileSync(join(folder, file), text);
      expect(mistakesOf({}).message).toMatch(
        new RegExp(`${name} = \\./evil.json \\(${file}\\): is not read .* SONANT_CONFIG`),
      );
      expect(load({ SONANT_CONFIG: file }).inForce).toContainEqual(
        expect.objectContaining({ value: './evil.json', source: file }),
      );
      rmSync(join(folder, file));
    }
    expect(load({ [name]: './evil.json' }).inForce).toContainEqual(
      expect.objectContaining({ value: './evil.json', source: 'environment' }),
    );
  }
});

test('a named file replaces the files in the current folder, and must exist', () => {
  writeFileSync(join(folder, '.env'), 'SONANT_SPEAKING_MAX=1\n');
  writeFileSync(join(folder, 'other.toml'), 'waiting_max = 7\n');
  const { speakingMax, waitingMax } = load({ SONANT_CONFIG: 'other.toml' });
  expect([speakingMax, waitingMax]).toEqual([64, 7]);
  expect(mistakesOf({ SONANT_CONFIG: 'none.toml' }).message).toMatch(/none.toml \(.*none.toml\): does not exist/);
  writeFileSync(join(folder, 'sonant.toml'), 'config = "other.toml"\n');
  expect(mistakesOf({}).mistakes.map(({ name }) => name)).toEqual(['SONANT_CONFIG']);
});
