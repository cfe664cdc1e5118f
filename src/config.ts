// One frozen Config from the environment, a `.env` and a `sonant.toml` in the working folder (in that order of weight),
// or the full list of what is wrong: each mistake with the setting's name, what was given, where, and what is allowed.
// A name that is no setting is a mistake too, so that a slip of the pen cannot pass for a default.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { parse as parseToml, TomlError } from 'smol-toml';
import { parseApiKey } from './access/api-key.ts';
import { oauthSettings } from './access/oauth-settings.ts';
import type { EngineDefinition } from './engines/engine.ts';
import {
  addressSetting,
  choiceSetting,
  flagSetting,
  integerSetting,
  listSetting,
  type Setting,
  type SettingValues,
  textSetting,
} from './setting.ts';
import { type LogLevel, logLevels } from './telemetry/log.ts';

const ownSettings = {
  httpAddr: addressSetting({
    name: 'SONANT_HTTP_ADDR',
    help: 'Where REST, SSE, Connect and gRPC-Web are served',
    fallback: '127.0.0.1:8080',
  }),
  grpcAddr: addressSetting({
    name: 'SONANT_GRPC_ADDR',
    help: 'Where gRPC is served',
    fallback: '127.0.0.1:50051',
  }),
  baseUrl: textSetting({
    name: 'SONANT_BASE_URL',
    help: 'What the public addresses of audio begin with; default: the HTTP address',
    allowed: 'an http or https URL without a slash at its end',
    fallback: '',
    isAllowed: (given) =>
      given === '' || (/^https?:\/\/[^/]/.test(given) && !given.endsWith('/') && URL.canParse(given)),
  }),
  tlsCert: textSetting({
    name: 'SONANT_TLS_CERT',
    help: 'File with the TLS certificate chain (PEM); with SONANT_TLS_KEY, both doors speak TLS',
    allowed: 'a path',
    fallback: '',
  }),
  tlsKey: textSetting({
    name: 'SONANT_TLS_KEY',
    help: 'File with the key of the TLS certificate (PEM)',
    allowed: 'a path',
    fallback: '',
  }),
  isBehindProxy: flagSetting({
    name: 'SONANT_BEHIND_PROXY',
    help: 'A proxy in front does the TLS: no warning for serving without it',
  }),
  allowedOrigins: listSetting({
    name: 'SONANT_CORS_ORIGINS',
    help: 'Origins whose pages may call from a browser, with commas between them',
    allowed: 'origins such as https://example.com',
    isItem: (item) => URL.canParse(item) && new URL(item).origin === item,
  }),
  isStrict: flagSetting({
    name: 'SONANT_STRICT',
    help: 'Refuse members of a request that mean nothing, in place of naming them in X-Ignored-Fields',
  }),
  bootstrapKey: textSetting({
    name: 'SONANT_BOOTSTRAP_KEY',
    help: 'A well-formed API key that is accepted from the first start on',
    allowed: 'an API key as sonant key create prints them',
    fallback: '',
    isAllowed: (given) => given === '' || parseApiKey(given) !== undefined,
    secret: true,
  }),
  keyPepper: textSetting({
    name: 'SONANT_KEY_PEPPER',
    help: 'Secret that hashes of API keys are made with; keys made with another one end with a change',
    fallback: '',
    secret: true,
  }),
  masterKey: textSetting({
    name: 'SONANT_MASTER_KEY',
    help: 'Secret that voices of people are encrypted with; default: the file master-key in the data folder, made when it is first needed',
    allowed: 'at least 32 characters',
    fallback: '',
    isAllowed: (given) => given === '' || given.length >= 32,
    secret: true,
  }),
  badKeysPerMinute: integerSetting({
    name: 'SONANT_BAD_KEYS_PER_MINUTE',
    help: 'Attempts without a valid API key that an address may make in a minute; further ones are told to wait',
    min: 1,
    max: 1_000_000,
    fallback: 60,
  }),
  ...oauthSettings,
  audioKeepHours: integerSetting({
    name: 'SONANT_AUDIO_KEEP_HOURS',
    help: 'Hours that stored audio is kept',
    min: 1,
    max: 8760,
    fallback: 24,
  }),
  drainSeconds: integerSetting({
    name: 'SONANT_DRAIN_SECONDS',
    help: 'Seconds that requests may go on when the service is told to stop',
    min: 0,
    max: 3600,
    fallback: 20,
  }),
  logLevel: choiceSetting<LogLevel>({
    name: 'SONANT_LOG_LEVEL',
    help: 'The least that is logged, on standard error',
    choices: logLevels,
    fallback: 'info',
  }),
  dataDir: textSetting({
    name: 'SONANT_DATA_DIR',
    help: 'Folder for everything that Sonant keeps; your own voices go into its folder voices/',
    allowed: 'a path',
    fallback: './data',
    isAllowed: (given) => given.trim() !== '',
  }),
  speakingMax: integerSetting({
    name: 'SONANT_SPEAKING_MAX',
    help: 'Requests that speak at once; further ones wait',
    min: 1,
    max: 10_000,
    fallback: 64,
  }),
  waitingMax: integerSetting({
    name: 'SONANT_WAITING_MAX',
    help: 'Requests that wait for their turn; further ones are told to come back',
    min: 0,
    max: 100_000,
    fallback: 256,
  }),
};

export interface Config extends SettingValues<typeof ownSettings> {
  /** The values of each engine's own settings, by the engine's name. */
  engines: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Every setting with its value, for people to read. */
  inForce: readonly SettingInForce[];
}

export interface SettingInForce {
  setting: Setting;
  value: unknown;
  /** Where the value comes from: "environment", ".env", "sonant.toml" or "default". */
  source: string;
}

export interface ConfigMistake {
  /** The setting, or the file that cannot be read. */
  name: string;
  given?: string;
  source: string;
  allowed: string;
}

export class ConfigError extends Error {
  readonly mistakes: readonly ConfigMistake[];

  constructor(mistakes: readonly ConfigMistake[]) {
    const lines = mistakes.map((mistake) => `  ${explainMistake(mistake)}`);
    super(
      `the configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${lines.join('\n')}`,
    );
    this.name = 'ConfigError';
    this.mistakes = mistakes;
  }
}

export const explainMistake = ({ name, given, source, allowed }: ConfigMistake): string =>
  `${given === undefined ? name : `${name} = ${given}`} (${source}): ${allowed}`;

export interface ConfigSources {
  env: Readonly<Record<string, string | undefined>>;
  /** Where `.env` and `sonant.toml` are looked for, and what relative paths start from. */
  folder: string;
  engines: readonly EngineDefinition[];
}

export function loadConfig({ env, folder, engines }: ConfigSources): Config {
  const mistakes: ConfigMistake[] = [];
  const given = [
    { source: 'environment', values: onlyOurs(env) },
    { source: '.env', values: readEnvFile(join(folder, '.env'), mistakes) },
    { source: 'sonant.toml', values: readToml(join(folder, 'sonant.toml'), mistakes) },
  ];
  const all = allSettings(engines);
  const names = new Set<string>(all.map((setting) => setting.name));
  for (const { source, values } of given) {
    for (const [name, value] of Object.entries(values)) {
      if (names.has(name) || isInjected(name, value)) continue;
      mistakes.push({ name, given: '...', source, allowed: 'no such setting; see sonant config --help' });
    }
  }
  const inForce = all.map((setting): SettingInForce => {
    const from = given.find(({ values }) => values[setting.name] !== undefined);
    if (!from) return { setting, value: setting.fallback, source: 'default' };
    const { source } = from;
    const text = from.values[setting.name]!;
    const value = setting.parse(text);
    const { name, allowed } = setting;
    if (value === undefined)
      mistakes.push({ name, given: setting.secret ? '(secret)' : text, source, allowed: `must be ${allowed}` });
    return { setting, value, source };
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);

  const values = new Map(inForce.map(({ setting, value }) => [setting, value]));
  const valuesOf = (settings: Readonly<Record<string, Setting>>) =>
    Object.freeze(Object.fromEntries(Object.entries(settings).map(([key, setting]) => [key, values.get(setting)])));
  const own = valuesOf(ownSettings) as SettingValues<typeof ownSettings>;
  return Object.freeze({
    ...own,
    dataDir: resolve(folder, own.dataDir),
    engines: Object.freeze(Object.fromEntries(engines.map(({ name, settings }) => [name, valuesOf(settings)]))),
    inForce: Object.freeze(inForce),
  });
}

/** Every setting there is, the engines' after our own. */
export const allSettings = (engines: readonly EngineDefinition[]): Setting[] =>
  [ownSettings, ...engines.map(({ settings }) => settings)].flatMap((group) => Object.values<Setting>(group));

const onlyOurs = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith('SONANT_') && value !== undefined ? [[name, value]] : [],
    ),
  );

/** Kubernetes puts these beside a service that is named sonant. They are no settings, and no slips of the pen. */
const isInjected = (name: string, value: string): boolean =>
  /^SONANT_(SERVICE_(HOST|PORT)|PORT_\d)/.test(name) || (name === 'SONANT_PORT' && value.includes('://'));

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function readEnvFile(path: string, mistakes: ConfigMistake[]): Record<string, string> {
  try {
    return onlyOurs(parseEnv(readIfThere(path)));
  } catch (error) {
    mistakes.push({ name: '.env', source: path, allowed: `cannot be read: ${(error as Error).message}` });
    return {};
  }
}

/** `data_dir = "x"` is SONANT_DATA_DIR, and so is `dir = "x"` under `[data]`. */
function readToml(path: string, mistakes: ConfigMistake[]): Record<string, string> {
  const values: Record<string, string> = {};
  const flatten = (table: object, prefix: string) => {
    for (const [key, value] of Object.entries(table)) {
      const name = `${prefix}_${key.toUpperCase().replaceAll('-', '_')}`;
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) flatten(value, name);
      else if (name in values)
        mistakes.push({ name, given: String(value), source: 'sonant.toml', allowed: 'is given twice' });
      else values[name] = String(value);
    }
  };
  try {
    flatten(parseToml(readIfThere(path)), 'SONANT');
  } catch (error) {
    const unread = { source: path, allowed: `cannot be read: ${(error as Error).message}` };
    mistakes.push({ name: 'sonant.toml', ...(error instanceof TomlError ? explainToml(error, path) : unread) });
  }
  return values;
}

/** Words of the parser, and ours; the line itself is not shown, for there may be a secret in it. */
const tomlFaults: readonly (readonly [RegExp, string])[] = [
  [/redefin/, 'this name has been given a value before'],
  [/string|escape/, 'a text in quotes must end on its line, and a \\ in it is written \\\\'],
  [
    /numeric|integer|invalid value|underscore|leading zero|invalid date/,
    'a value must be a number, true, false or a text in quotes',
  ],
  [/end-of-line/, 'a line holds one setting and nothing more'],
];

function explainToml({ message, line, column }: TomlError, path: string): Omit<ConfigMistake, 'name'> {
  const fault = tomlFaults.find(([words]) => words.test(message))?.[1];
  return {
    source: `${path}, line ${line}, column ${column}`,
    allowed: fault ?? 'a line must be like data_dir = "./data"',
  };
}
