// Mistakes in the configuration. Each has the name of the setting, its value, its source and the allowed values.
import type { Setting } from './setting-types.ts';
import { reasonOf } from './system-errors.ts';

export interface SettingInForce {
  setting: Setting;
  value: unknown;
  /** Source of the value: "environment", ".env", "sonant.toml", the named file or "default". */
  source: string;
}

export interface InForce {
  /** Every setting with its value and source, for display. */
  inForce: readonly SettingInForce[];
}

export interface ConfigMistake {
  /** Name of the setting, or of the file that cannot be read. */
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
      `the configuration has ${mistakes.length === 1 ? 'an error' : `${mistakes.length} errors`}:\n${lines.join('\n')}`,
    );
    this.name = 'ConfigError';
    this.mistakes = mistakes;
  }
}

/** A mistake in the value of a setting. The value of a secret is not shown. */
export function mistakeIn({ inForce }: InForce, name: string, allowed: string): ConfigMistake {
  const { setting, value, source } = inForce.find((each) => each.setting.name === name)!;
  return { name, given: setting.secret && value !== '' ? '(secret)' : String(value), source, allowed };
}

/** Runs `work`. An error becomes a ConfigError that names the setting. */
export async function asConfigError<T>(config: InForce, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ConfigError([mistakeIn(config, name, reasonOf(error))]);
  }
}

export const explainMistake = ({ name, given, source, allowed }: ConfigMistake): string =>
  `${given === undefined ? name : `${name} = ${given}`} (${source}): ${allowed}`;
