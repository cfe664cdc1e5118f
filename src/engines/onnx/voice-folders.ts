// The installed voices of this engine: folders in the data folder's `models/` that contain a card. Importing a model
// writes the card, which states all that is known of the voice, so that opening the engine reads no weights.
//     sonant-voice.json   { "family": "hibari", "sha256": "<of model.onnx>", "name": "Heart", "description": "...",
//                           "language_codes": ["en-US", "en"], "labels": {"gender": "female"}, "gain_db": -1.5 }
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Voice } from '../engine.ts';

export const cardName = 'sonant-voice.json';
export const modelName = 'model.onnx';
export const vocabularyName = 'vocabulary.json';

export interface VoiceCard {
  family: string;
  sha256: string;
  name: string;
  description: string;
  language_codes: readonly string[];
  labels: Readonly<Record<string, string>>;
  gain_db: number;
}

export interface InstalledVoice {
  voice: Voice;
  folder: string;
}

const versionChars = 16;

export const voicesFolder = (dataDir: string): string => join(dataDir, 'models');

/** The voices by id, and the faults of folders whose card cannot be read. */
export async function readVoiceFolders(
  dataDir: string,
  runtime: string,
): Promise<{ voices: InstalledVoice[]; faults: string[] }> {
  const entries = await readdir(voicesFolder(dataDir)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const voices: InstalledVoice[] = [];
  const faults: string[] = [];
  for (const name of entries.sort()) {
    const folder = join(voicesFolder(dataDir), name);
    if (name.startsWith('.')) continue;
    const text = await readFile(join(folder, cardName), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    try {
      voices.push({ voice: toVoice(name, JSON.parse(text), runtime), folder });
    } catch (error) {
      faults.push(`${name}: ${cardName} cannot be read: ${(error as Error).message}`);
    }
  }
  return { voices, faults };
}

/** The two runtimes round differently, so that a voice has a version for each. */
function toVoice(voiceId: string, card: VoiceCard, runtime: string): Voice {
  return {
    voiceId,
    name: card.name,
    description: card.description,
    kind: 'stock',
    engine: 'onnx',
    languageCodes: card.language_codes,
    labels: { ...card.labels, model: card.family },
    version: `${card.sha256.slice(0, versionChars)} ${runtime}`,
    gainDb: card.gain_db,
  };
}
