// A setting: environment variable, help text with unit, default, and parser. `config.ts` reads all settings at once.

export interface Setting<T = unknown> {
  name: `SONANT_${string}` | `OTEL_${string}`;
  /** An earlier name, still accepted with a warning, and the conversion of its values. */
  formerly?: { name: `SONANT_${string}`; toValue?(given: string): string };
  /** Effect of the setting, with the unit. */
  help: string;
  /** Describes the allowed values, for error messages. */
  allowed: string;
  fallback: T;
  /** Whether the value is secret, and therefore never printed. */
  secret?: boolean;
  /**
   * Whether the value makes Sonant run code or open files, such as a library. It is not read from a file that Sonant
   * finds in the current folder, which may be somebody else's.
   */
  explicitOnly?: true;
  /** Parses the value; returns undefined if `given` is not allowed. */
  parse(given: string): T | undefined;
}

export type Settings = Readonly<Record<string, Setting>>;
export type SettingValues<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

type Declared<T> = Omit<Setting<T>, 'allowed' | 'parse'>;

export function integerSetting(
  setting: Declared<number> & { range: readonly [min: number, max: number] },
): Setting<number> {
  const { range, ...rest } = setting;
  const [min, max] = range;
  return {
    ...rest,
    allowed: `a whole number from ${min} to ${max}`,
    parse: (given) => {
      const value = Number(given);
      return /^\d+$/.test(given) && value >= min && value <= max ? value : undefined;
    },
  };
}

interface TextChecks {
  allowed?: string;
  fallback?: string;
  isAllowed?: (given: string) => boolean;
}

/** A text setting. Its default is always allowed; without `fallback`, the default is an empty string. */
export function textSetting(setting: Omit<Declared<string>, 'fallback'> & TextChecks): Setting<string> {
  const { isAllowed = () => true, fallback = '', allowed = 'any text', ...rest } = setting;
  return { ...rest, fallback, allowed, parse: (given) => (given === fallback || isAllowed(given) ? given : undefined) };
}

export const pathSetting = (setting: Omit<Declared<string>, 'fallback'>): Setting<string> =>
  textSetting({ ...setting, allowed: 'a path' });

const secretCharsMin = 32;

/** A secret from which keys are derived. */
export const longSecretSetting = (setting: Omit<Declared<string>, 'fallback'>): Setting<string> =>
  textSetting({
    ...setting,
    allowed: `at least ${secretCharsMin} characters`,
    isAllowed: (given) => given.length >= secretCharsMin,
    secret: true,
  });

export const isWebUrl = (given: string): boolean => /^https?:\/\/[^/]/.test(given) && URL.canParse(given);

/** A URL to which paths are appended. */
export const urlSetting = ({
  mayHaveQuery = true,
  ...setting
}: Omit<Declared<string>, 'fallback'> & { mayHaveQuery?: boolean }): Setting<string> =>
  textSetting({
    ...setting,
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: (given) => isWebUrl(given) && !given.endsWith('/') && (mayHaveQuery || !/[?#]/.test(given)),
  });

export function choiceSetting<T extends string>(setting: Declared<T> & { choices: readonly T[] }): Setting<T> {
  const { choices, ...rest } = setting;
  return {
    ...rest,
    allowed: choices.join(', '),
    parse: (given) => choices.find((choice) => choice === given),
  };
}

/** A setting that is on or off. Default: off. */
export function flagSetting(setting: Omit<Declared<boolean>, 'fallback'>): Setting<boolean> {
  return {
    ...setting,
    fallback: false,
    allowed: '1 or 0',
    parse: (given) =>
      given === '1' || given === 'true' ? true : given === '0' || given === 'false' ? false : undefined,
  };
}

/** An address to listen on. Port 0 means any free port. */
export interface Address {
  host: string;
  port: number;
  toString(): string;
}

export function addressSetting(setting: Omit<Declared<Address>, 'fallback'> & { fallback: string }): Setting<Address> {
  return { ...setting, fallback: parseAddress(setting.fallback)!, allowed: 'host:port', parse: parseAddress };
}

export const optionalAddressSetting = (setting: Omit<Declared<Address | ''>, 'fallback'>): Setting<Address | ''> => ({
  ...setting,
  fallback: '',
  allowed: 'host:port',
  parse: (given) => (given === '' ? '' : parseAddress(given)),
});

function parseAddress(given: string): Address | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]*)):(\d{1,5})$/.exec(given);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) return undefined;
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port, toString: () => given };
}

/** A setting with a comma-separated list. */
export function listSetting(
  setting: Omit<Declared<readonly string[]>, 'fallback'> & { allowed: string; isItem(item: string): boolean },
): Setting<readonly string[]> {
  const { isItem, ...rest } = setting;
  return {
    ...rest,
    fallback: [],
    parse: (given) => {
      const items = given
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
      return items.every(isItem) ? items : undefined;
    },
  };
}
