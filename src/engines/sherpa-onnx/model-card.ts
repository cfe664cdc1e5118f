// sonant-model.json in a model's folder: metadata that the operator adds if the files lack it. All fields are optional.
// `options` are listed in model-folder.ts. `speakers` are in the model's order; further speakers keep their numbers.
//     { "name": "Amy", "description": "...", "language_codes": ["en-GB"], "labels": {"gender": "female"},
//       "kind": "supertonic", "options": {"steps": 8},
//       "speakers": [{"name": "Amy", "language_codes": ["en-GB"], "labels": {}}] }
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelFault } from './model-fault.ts';

/** The kinds of models that this engine speaks with. */
export const modelKinds = ['supertonic', 'pocket', 'zipvoice'] as const;
export type ModelKind = (typeof modelKinds)[number];

interface VoiceCard {
  name?: string;
  description?: string;
  languageCodes?: readonly string[];
  labels?: Readonly<Record<string, string>>;
}

export interface ModelCard extends VoiceCard {
  kind?: ModelKind;
  /** Numbers by name. The checks of the model decide which options its kind supports. */
  options?: Readonly<Record<string, number>>;
  speakers: readonly VoiceCard[];
}

export const cardName = 'sonant-model.json';

const charsMax = 1_000;
const itemsMax = 10_000;

/** The card of a folder; empty if there is none. */
export async function readModelCard(folder: string): Promise<ModelCard> {
  const text = await readFile(join(folder, cardName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new ModelFault('is not JSON');
  }
  const { kind, options, speakers = [], ...own } = toObject(given, 'it');
  if (!Array.isArray(speakers) || speakers.length > itemsMax) throw new ModelFault('must have a list of speakers');
  const known = modelKinds.find((name) => name === kind);
  if (kind !== undefined && !known) throw new ModelFault(`has a kind that must be one of ${modelKinds.join(', ')}`);
  return {
    ...toVoiceCard(own, 'it'),
    ...(known && { kind: known }),
    ...(options !== undefined && { options: toNumbers(options) }),
    speakers: speakers.map((speaker, n) => toVoiceCard(toObject(speaker, `speaker ${n}`), `speaker ${n}`)),
  };
}

type Members = Record<string, unknown>;

function toObject(given: unknown, what: string): Members {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Members;
  throw new ModelFault(`is invalid: ${what} is not an object`);
}

function toText(given: unknown, what: string): string {
  if (typeof given === 'string' && given.trim() !== '' && given.length <= charsMax) return given.trim();
  throw new ModelFault(`is invalid: ${what} is not text of 1 to ${charsMax} characters`);
}

function toNumbers(given: unknown): Record<string, number> {
  const numbers = toObject(given, 'options');
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw new ModelFault(`has ${name}, which must be a number`);
  }
  return numbers as Record<string, number>;
}

function toVoiceCard(given: Members, what: string): VoiceCard {
  const { name, description, language_codes: codes, labels, ...others } = given;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new ModelFault(`has the unknown member ${other}; remove it`);
  return {
    ...(name !== undefined && { name: toText(name, `the name of ${what}`) }),
    ...(description !== undefined && { description: toText(description, `the description of ${what}`) }),
    ...(codes !== undefined && { languageCodes: toLanguageCodes(codes) }),
    ...(labels !== undefined && {
      labels: Object.fromEntries(
        Object.entries(toObject(labels, 'labels')).map(([key, value]) => [key, toText(value, `the label ${key}`)]),
      ),
    }),
  };
}

function toLanguageCodes(given: unknown): string[] {
  try {
    const codes = Intl.getCanonicalLocales(given as string[]);
    if (Array.isArray(given) && codes.length > 0) return codes;
  } catch {
    // The fault is reported below.
  }
  throw new ModelFault('must have language codes such as ["en-GB", "en"]');
}
