// How loud the speakers of a model are, as they were heard: the gain that each needs, stored in the model's folder, so that
// each is heard once, by one of those who share the folder:
//     sonant-gain.json   { "version": "<of the model>", "gains_db": [-1.5, null, ...],       null: not heard yet
//                          "blends_db": {"3:0.6+2:0.4": -1.5, ...} }                       by the key of the style
// Until a speaker is heard, it has the mean gain of those of its model that were, and 0 dB before any was.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from './model.ts';
import { countSpeakers } from './model-voices.ts';

export const gainName = 'sonant-gain.json';

export type Gains = readonly (number | undefined)[];

/** Without what a setting adds to it: that makes no voice louder. */
const contentVersion = ({ version }: Model): string => version.split(' ', 1)[0]!;

interface StoredGains {
  speakers: Gains;
  /** By the keys of their styles. */
  blends: ReadonlyMap<string, number>;
}

/** So many blends are kept, the latest. */
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
    // It was never written, or is no longer what it should be: the speakers are heard again.
    return none;
  }
}

/** The stored gains of a model's speakers; none where there are none for this version. A speaker without a style has 0. */
export async function readGains(model: Model): Promise<Gains> {
  const { speakers, blends } = await readStored(model);
  return model.blended?.styles.map((style) => (style ? blends.get(style.key) : 0)) ?? speakers;
}

/** Stores the gains with those that are stored already. Where the folder is not writable, none are, and each process hears them. */
export async function keepGains(model: Model, gains: Gains): Promise<void> {
  const stored = await readStored(model);
  const { blended } = model;
  const all = stored.speakers.map((gain, position) => (blended ? gain : (gains[position] ?? gain)) ?? null);
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
