// A setting: a name in the environment, what it means with its unit and default, and how its value is read. Rooms
// declare the settings they need beside the code that needs them; config.ts reads them all at once.

export interface Setting<T = unknown> {
  name: `SONANT_${string}`;
  /** What it does, with the unit. */
  help: string;
  /** What a value must be, for the message that lists every mistake. */
  allowed: string;
  fallback: T;
  /** Never printed. */
  secret?: boolean;
  /** The value, or undefined where `given` is not allowed. */
  parse(given: string): T | undefined;
}

export type Settings = Readonly<Record<string, Setting>>;
export type SettingValues<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

type Declared<T> = Omit<Setting<T>, 'allowed' | 'parse'>;

export function integerSetting(setting: Declared<number> & { min: number; max: number }): Setting<number> {
  const { min, max, ...rest } = setting;
  return {
    ...rest,
    allowed: `a whole number from ${min} to ${max}`,
    parse: (given) => {
      const value = Number(given);
      return /^\d+$/.test(given) && value >= min && value <= max ? value : undefined;
    },
  };
}

export function textSetting(
  setting: Declared<string> & { allowed?: string; isAllowed?: (given: string) => boolean },
): Setting<string> {
  const { isAllowed = () => true, ...rest } = setting;
  return { allowed: 'any text', ...rest, parse: (given) => (isAllowed(given) ? given : undefined) };
}
