// The installed voices of this engine: folders in the data folder's `models/`, or in that of the package, that contain a
// card. Importing a model writes the card, which states all that is known of its voices, so that opening reads no weights.
//     sonant-voice.json   { "family": "hibari", "sha256": "<of model.onnx>", "voices": [
//                           { "id": "", "name": "Heart", "description": "...", "language_codes": ["en-US", "en"],
//                             "labels": {"gender": "female"}, "gain_db": -1.5 }] }
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Voice } from '../engine.ts';
import type { SpeakerShare } from './family.ts';
import { type Reading, usualReading } from './reading.ts';

export const cardName = 'sonant-voice.json';
export const modelName = 'model.onnx';
export const vocabularyName = 'vocabulary.json';

export interface VoiceCard {
  family: string;
  sha256: string;
  voices: readonly SpeakerCard[];
}

export interface SpeakerCard {
  /** The part of the voice's id after the name of the folder; empty if the model has one voice. */
  id: string;
  name: string;
  description: string;
  language_codes: readonly string[];
  labels: Readonly<Record<string, string>>;
  gain_db: number;
  reading?: Reading;
}

export interface InstalledVoice {
  voice: Voice;
  folder: string;
  /** Name and version of the model. */
  model: string;
  speakers: readonly SpeakerShare[];
  /** Whether the model has further voices, which can be blended. */
  isOneOfSeveral: boolean;
  reading: Reading;
}

const versionChars = 16;

export const voicesFolder = (dataDir: string): string => join(dataDir, 'models');
/** Read-only; only the npm package and the image have it (.ci/fetch-voice.ts). */
export const packagedFolder = voicesFolder(fileURLToPath(new URL('../../../voices', import.meta.url)));

export const readVoiceCard = async (folder: string): Promise<VoiceCard> =>
  JSON.parse(await readFile(join(folder, cardName), 'utf8'));

export const readingOf = ({ reading, language_codes: [code] }: SpeakerCard): Reading => reading ?? usualReading(code!);

export const toVoiceId = (modelId: string, speaker: string): string =>
  speaker === '' ? modelId : `${modelId}-${speaker}`;

/** The voices by id, and the faults of folders whose card cannot be read. */
export async function readVoiceFolders(
  dataDir: string,
  runtime: string,
): Promise<{ voices: InstalledVoice[]; faults: string[] }> {
  const own = await foldersIn(voicesFolder(dataDir));
  const packaged = await foldersIn(packagedFolder);
  const voices: InstalledVoice[] = [];
  const faults: string[] = [];
  for (const [name, folder] of Object.entries({ ...packaged, ...own }).sort()) {
    if (!existsSync(join(folder, cardName))) continue;
    try {
      const card = await readVoiceCard(folder);
      voices.push(...card.voices.map((speaker) => toInstalled(folder, card, speaker, runtime)));
    } catch (error) {
      faults.push(`${name}: ${cardName} cannot be read: ${(error as Error).message}`);
    }
  }
  return { voices, faults };
}

/** Paths by name. */
async function foldersIn(parent: string): Promise<Record<string, string>> {
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return Object.fromEntries(names.filter((name) => !name.startsWith('.')).map((name) => [name, join(parent, name)]));
}

function toInstalled(folder: string, card: VoiceCard, speaker: SpeakerCard, runtime: string): InstalledVoice {
  const { id, name, description } = speaker;
  const modelId = basename(folder);
  // The two runtimes round differently, so that a voice has a version for each.
  const version = `${card.sha256.slice(0, versionChars)} ${runtime}`;
  const voice: Voice = {
    voiceId: toVoiceId(modelId, id),
    name,
    description,
    kind: 'stock',
    engine: 'onnx',
    languageCodes: speaker.language_codes,
    labels: { ...speaker.labels, model: card.family },
    version,
    gainDb: speaker.gain_db,
  };
  const isOneOfSeveral = card.family === 'kokoro' && card.voices.length > 1;
  const speakers = [{ id, weight: 1 }];
  return { voice, folder, model: `${modelId} ${version}`, speakers, isOneOfSeveral, reading: readingOf(speaker) };
}
