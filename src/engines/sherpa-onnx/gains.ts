// Measured gains of a model's speakers, stored in the model's folder, so that each speaker is measured once by one of
// the services that share the folder. Until a speaker is measured, it has the mean gain of the model's measured
// speakers, or 0 dB if there is none.
//     sonant-gain.json   { "version": "<of the model>", "gains_db": [-1.5, null, ...],       null: not measured yet
//                          "blends_db": {"3:0.6+2:0.4": -1.5, ...} }                       by the key of the style
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from './model.ts';
import { countSpeakers } from './model-voices.ts';

export const gainName = 'sonant-gain.json';

export type Gains = readonly (number | undefined)[];

/** The version without the part that settings add, which does not change the loudness. */
const contentVersion = ({ version }: Model): string => version.split(' ', 1)[0]!;

interface StoredGains {
  speakers: Gains;
  /** Gains of blends by style key. */
  blends: ReadonlyMap<string, number>;
}

/** Largest number of stored blends; the oldest ones are dropped. */
const blendsMax = 1_000;

async function readStored(model: Model): Promise<StoredGains> {
  const source = model.blended?.source ?? model;
  const count = countSpeakers(source);
  const none = { speakers: Array.from({ length: count }, () => undefined), blends: new Map() };
  try {
    const text = await readFile(join(model.folder, gainName), 'utf8');
    const { version, gains_db: gains, blends_db: blends = {} } = JSON.parse(text);
    if (version !== contentVersion(model) || !Array.isArray(gains) || gains.length !== count) return none;
    return {
      speakers: gains.map((gain) => (Number.isFinite(gain) ? (gain as number) : undefined)),
      blends: new Map(Object.entries<number>(blends).filter(([, gain]) => Number.isFinite(gain))),
    };
  } catch {
    // The file was never written or is damaged, so the speakers are measured again.
    return none;
  }
}

/** The stored gains of a model's speakers; empty if none are stored for this version. An unused place has gain 0. */
export async function readGains(model: Model): Promise<Gains> {
  const { speakers, blends } = await readStored(model);
  return model.blended?.styles.map((style) => (style ? blends.get(style.key) : 0)) ?? speakers;
}

/**
 * Merges the gains with the stored ones. If the folder is not writable, nothing is stored and each process measures for
 * itself.
 */
export async function keepGains(model: Model, gains: Gains): Promise<void> {
  const stored = await readStored(model);
  const { blended } = model;
  const all = stored.speakers.map((gain, position) => (blended ? gain : (gains[position] ?? gain)));
  const blends = new Map(stored.blends);
  for (const [position, style] of blended?.styles.entries() ?? []) {
    if (style && gains[position] !== undefined) blends.set(style.key, gains[position]);
  }
  const kept = [...blends].slice(-blendsMax);
  const path = join(model.folder, gainName);
  const draft = `${path}.${process.pid}.new`;
  const file = {
    version: contentVersion(model),
    gains_db: all,
    ...(kept.length > 0 && { blends_db: Object.fromEntries(kept) }),
  };
  await writeFile(draft, `${JSON.stringify(file)}\n`).then(
    () => rename(draft, path).catch(() => rm(draft, { force: true })),
    () => undefined,
  );
}

export function gainOf(gains: Gains, position: number): number {
  const heard = gains.filter((gain) => gain !== undefined);
  const mean = heard.reduce((sum, gain) => sum + gain, 0) / (heard.length || 1);
  return gains[position] ?? Math.round(10 * mean) / 10;
}
