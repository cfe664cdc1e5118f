// How loud the speakers of a model are, as they were heard: the gain that each needs, stored in the model's folder, so that
// each is heard once, by one of those who share the folder:
//     sonant-gain.json   { "version": "<of the model>", "gains_db": [-1.5, null, ...] }      null: not heard yet
// Until a speaker is heard, it has the mean gain of those of its model that were, and 0 dB before any was.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from './model.ts';
import { countSpeakers } from './model-voices.ts';

export const gainName = 'sonant-gain.json';

export type Gains = readonly (number | undefined)[];

/** Without what a setting adds to it: that makes no voice louder. */
const contentVersion = ({ version }: Model): string => version.split(' ', 1)[0]!;

/** The stored gains of a model's speakers; none where there are none for this version. */
export async function readGains(model: Model): Promise<Gains> {
  const count = countSpeakers(model);
  const none = Array.from({ length: count }, () => undefined);
  try {
    const { version, gains_db: gains } = JSON.parse(await readFile(join(model.folder, gainName), 'utf8'));
    if (version !== contentVersion(model) || !Array.isArray(gains) || gains.length !== count) return none;
    return gains.map((gain) => (Number.isFinite(gain) ? (gain as number) : undefined));
  } catch {
    // It was never written, or is no longer what it should be: the speakers are heard again.
    return none;
  }
}

/** Stores the gains with those that are stored already. Where the folder is not writable, they are heard again. */
export async function keepGains(model: Model, gains: Gains): Promise<void> {
  const stored = await readGains(model);
  const all = stored.map((gain, position) => gains[position] ?? gain ?? null);
  const path = join(model.folder, gainName);
  const draft = `${path}.${process.pid}.new`;
  const text = `${JSON.stringify({ version: contentVersion(model), gains_db: all })}\n`;
  await writeFile(draft, text).then(
    () => rename(draft, path).catch(() => rm(draft, { force: true })),
    () => undefined,
  );
}

export function gainOf(gains: Gains, position: number): number {
  const heard = gains.filter((gain) => gain !== undefined);
  const mean = heard.reduce((sum, gain) => sum + gain, 0) / (heard.length || 1);
  return gains[position] ?? Math.round(10 * mean) / 10;
}
