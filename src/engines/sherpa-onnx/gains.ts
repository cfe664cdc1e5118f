// Gains of a model's speakers, measured when the model is imported and stored in its folder. Speakers that were not
// measured have the mean gain of those that were; a model that was not imported has none.
//     sonant-gain.json   { "version": "<of the model>", "gains_db": [-1.5, null, ...] }     null: not measured
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from './model.ts';

const gainName = 'sonant-gain.json';

type Gains = readonly (number | undefined)[];

/** The version without the part that settings add, which does not change the loudness. */
const contentVersion = ({ version }: Model): string => version.split(' ', 1)[0]!;

/** The stored gains of a model's speakers; empty if none are stored for this version. */
export async function readGains(model: Model): Promise<Gains> {
  try {
    const { version, gains_db: gains } = JSON.parse(await readFile(join(model.folder, gainName), 'utf8'));
    if (version !== contentVersion(model) || !Array.isArray(gains)) return [];
    return gains.map((gain) => (Number.isFinite(gain) ? (gain as number) : undefined));
  } catch {
    // The file was never written or is damaged.
    return [];
  }
}

export async function keepGains(model: Model, gains: readonly number[]): Promise<void> {
  const file = { version: contentVersion(model), gains_db: gains };
  await writeFile(join(model.folder, gainName), `${JSON.stringify(file)}\n`);
}

export function gainOf(gains: Gains, position: number): number {
  const heard = gains.filter((gain) => gain !== undefined);
  const mean = heard.reduce((sum, gain) => sum + gain, 0) / (heard.length || 1);
  return gains[position] ?? Math.round(10 * mean) / 10;
}
