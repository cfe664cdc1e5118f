// Loads one frozen Config from the environment, and then from the file that SONANT_CONFIG or `--config` names, or else
// from `.env` and `sonant.toml` in the working folder (in that order of precedence), or throws all mistakes together.
// The files in the working folder may be somebody else's, so they must not contain settings that run code. Each mistake
// has the name of the setting, its value, its source and the allowed values. An unknown name is a mistake too, so that
// a typo is noticed. A mistake in an OpenTelemetry variable is only a warning.
import { existsSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { parse as parseToml, TomlError } from 'smol-toml';
import type { EngineDefinition } from '../engines.ts';
import {
  ConfigError,
  type ConfigMistake,
  type InForce,
  type SettingInForce,
} from '../platform/runtime/config-mistakes.ts';
import { nearestName, questionOf } from '../platform/runtime/nearest-name.ts';
import type { Setting, SettingValues } from '../platform/runtime/setting-types.ts';
import { reasonOf } from '../platform/runtime/system-errors.ts';
import { otelSettings } from './otel-settings.ts';
import { serviceSettings } from './settings.ts';

type OtelSettings = typeof otelSettings;

export interface Config extends SettingValues<typeof serviceSettings>, InForce {
  /** The values of the OpenTelemetry variables: for both signals, for each signal, and all other variables. */
  otel: { readonly [K in keyof OtelSettings]: SettingValues<OtelSettings[K]> };
  /** The values of each engine's own settings, by the engine's name. */
  engines: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Warnings about settings that are ignored or have a new name. */
  warnings: readonly ConfigMistake[];
}

/** `folder` may contain `.env` and `sonant.toml`. Relative paths are resolved from `folder`. */
export function loadConfig({
  env,
  folder,
  engines,
}: {
  env: Readonly<Record<string, string | undefined>>;
  folder: string;
  engines: readonly EngineDefinition[];
}): Config {
  const mistakes: ConfigMistake[] = [];
  const warnings: ConfigMistake[] = [];
  const { [configFile]: named = '', ...own } = env;
  const read = (source: string) => {
    const path = resolve(folder, source);
    if (source === named && !existsSync(path)) mistakes.push({ name: source, source: path, allowed: 'does not exist' });
    return { source, values: (source.endsWith('.env') ? readEnvFile : readToml)(path, mistakes) };
  };
  const files = (named === '' ? foundFiles : [named]).map(read);
  const given = [{ source: 'environment', values: onlyRead(own) }, ...files];
  const all = allSettings(engines);
  const names = new Set<string>(all.map((setting) => setting.name));
  const newNames = new Map<string, string>(
    all.flatMap(({ name, formerly }) => (formerly ? [[formerly.name, name]] : [])),
  );
  for (const { source, values } of given) {
    for (const [name, value] of Object.entries(values)) {
      if (names.has(name) || name === apiKeyOfClients || isInjected(name, value)) continue;
      if (name.startsWith(otelPrefix)) {
        if (isUnsupported(name)) warnings.push({ name, source, allowed: 'is not supported, and ignored' });
        continue;
      }
      const newName = newNames.get(name);
      if (newName !== undefined) {
        warnings.push({ name, source, allowed: `will not be read by the next version; set ${newName} instead` });
        continue;
      }
      if (removed.test(name)) {
        const allowed = 'is removed, because replicas on one PostgreSQL (SONANT_DATABASE_URL) share limits; delete it';
        mistakes.push({ name, given: '...', source, allowed });
        continue;
      }
      const question = questionOf(nearestSetting(name, [...names]));
      mistakes.push({
        name,
        given: '...',
        source,
        allowed: `unknown setting;${question} sonant config --help lists the settings`,
      });
    }
  }
  const inForce = all.map((setting): SettingInForce => {
    const find = (name: string) => given.find(({ values }) => values[name] !== undefined);
    const { formerly, allowed, fallback, secret } = setting;
    const name = formerly && !find(setting.name) ? formerly.name : setting.name;
    const from = find(name);
    if (!from) return { setting, value: fallback, source: 'default' };
    const { source } = from;
    const text = from.values[name]!;
    if (setting.explicitOnly && named === '' && source !== 'environment') {
      const allowed = `is not read from this file, which Sonant found in ${folder}, because it can make Sonant run code or open files. Set it in the environment; or, if you trust the file, name it with --config or ${configFile}`;
      mistakes.push({ name, given: text, source, allowed });
    }
    const value = setting.parse((name === formerly?.name && formerly.toValue?.(text)) || text);
    if (value !== undefined) return { setting, value, source };
    const mistake = { name, given: secret ? '(secret)' : text, source };
    if (setting.name.startsWith(otelPrefix)) {
      warnings.push({ ...mistake, allowed: `is ignored, because it must be ${allowed}` });
      return { setting, value: fallback, source: 'default' };
    }
    mistakes.push({ ...mistake, allowed: `must be ${allowed}` });
    return { setting, value, source };
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);

  const values = new Map(inForce.map(({ setting, value }) => [setting, value]));
  const valuesOf = (settings: Readonly<Record<string, Setting>>) =>
    Object.freeze(Object.fromEntries(Object.entries(settings).map(([key, setting]) => [key, values.get(setting)])));
  const ofService = valuesOf(serviceSettings) as SettingValues<typeof serviceSettings>;
  const otel = Object.fromEntries(Object.entries(otelSettings).map(([group, settings]) => [group, valuesOf(settings)]));
  return Object.freeze({
    ...ofService,
    dataDir: resolve(folder, ofService.dataDir),
    otel: Object.freeze(otel) as unknown as Config['otel'],
    engines: Object.freeze(Object.fromEntries(engines.map(({ name, settings }) => [name, valuesOf(settings)]))),
    inForce: Object.freeze(inForce),
    warnings: Object.freeze(warnings),
  });
}

/** All settings of the service, of OpenTelemetry and of the engines. */
export const allSettings = (engines: readonly EngineDefinition[]): Setting[] =>
  [serviceSettings, ...Object.values(otelSettings), ...engines.map(({ settings }) => settings)].flatMap((group) =>
    Object.values<Setting>(group),
  );

/**
 * The setting with the closest name, compared without the common prefix. The endings PORT, HOST, LISTEN and BIND count
 * as ADDR, because other services use them for addresses.
 */
function nearestSetting(name: string, known: readonly string[]): string | undefined {
  const given = name.slice(prefix.length).replace(/(^|_)(PORT|HOST|LISTEN|BIND)$/, '$1ADDR');
  const meant = nearestName(
    given,
    known.map((each) => each.slice(prefix.length)),
  );
  return meant === undefined ? undefined : prefix + meant;
}

const prefix = 'SONANT_';
/** Settings of former versions. */
const removed = /^SONANT_(REDIS_(URL|PREFIX|FALLBACK)|REPLICAS)$/;
const otelPrefix = 'OTEL_';
/** Returns the variables that Sonant reads. An empty OpenTelemetry variable counts as unset. */
const onlyRead = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      (name.startsWith(prefix) && value !== undefined) || (name.startsWith(otelPrefix) && value)
        ? [[name, value as string]]
        : [],
    ),
  );

/** Names the file with the settings. It is not a setting itself, and is read only from the environment. */
const configFile = 'SONANT_CONFIG';
const foundFiles = ['.env', 'sonant.toml'];

/** The API key that the examples send. It is not a setting of the service. */
const apiKeyOfClients = 'SONANT_API_KEY';

/** Whether an operator could expect Sonant to support this exporter variable. Sonant exports no logs. */
const isUnsupported = (name: string): boolean => /^OTEL_EXPORTER_OTLP_(?!LOGS_)/.test(name);

/** Whether Kubernetes sets this variable for a service named sonant. Such a variable is not a setting. */
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
    return onlyRead(parseEnv(readIfThere(path)));
  } catch (error) {
    mistakes.push({ name: basename(path), source: path, allowed: `cannot be read: ${reasonOf(error)}` });
    return {};
  }
}

/** Reads a TOML file. `data_dir = "x"`, `SONANT_DATA_DIR = "x"`, and `dir = "x"` under `[data]` set SONANT_DATA_DIR. */
function readToml(path: string, mistakes: ConfigMistake[]): Record<string, string> {
  const values: Record<string, string> = {};
  const flatten = (table: object, prefix: string) => {
    for (const [key, value] of Object.entries(table)) {
      const name = `${prefix}_${key.toUpperCase().replaceAll('-', '_')}`.replace(/^SONANT_SONANT_/, 'SONANT_');
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) flatten(value, name);
      else if (name in values) mistakes.push({ name, given: '...', source: basename(path), allowed: 'is set twice' });
      else values[name] = String(value);
    }
  };
  try {
    flatten(parseToml(readIfThere(path)), 'SONANT');
  } catch (error) {
    const unread = { source: path, allowed: `cannot be read: ${reasonOf(error)}` };
    mistakes.push({ name: basename(path), ...(error instanceof TomlError ? explainToml(error, path) : unread) });
  }
  return values;
}

/** Messages that replace the parser's messages, which quote the line and could show a secret. */
const tomlFaults: readonly (readonly [RegExp, string])[] = [
  [/redefin/, 'this setting already has a value above; remove one of the two'],
  [/string|escape/, 'quoted text must end on its line, and a \\ in it must be written as \\\\'],
  [
    /numeric|integer|invalid value|underscore|leading zero|invalid date/,
    'a value must be a number, true, false or text in quotes',
  ],
  [/end-of-line/, 'a line must contain only one setting'],
];

function explainToml({ message, line, column }: TomlError, path: string): Omit<ConfigMistake, 'name'> {
  const fault = tomlFaults.find(([words]) => words.test(message))?.[1];
  return {
    source: `${path}, line ${line}, column ${column}`,
    allowed: fault ?? 'a line must be like data_dir = "./data"',
  };
}
