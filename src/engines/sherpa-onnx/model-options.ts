// What an operator may set for a model in its card, sonant-model.json, by the kind of the model: how the library loads it
// (config), and what it is told with each request (extra). Each row is an option of the library that changes how the model
// sounds. A model without the option keeps the library's own value.

import type { LibraryOptions } from './model.ts';
import type { ModelKind } from './model-card.ts';

interface OptionRow {
  kinds: readonly ModelKind[];
  min: number;
  max: number;
  isInteger?: boolean;
  /** Its name in the library, and where it belongs. */
  config?: string;
  extra?: string;
}

const optionRows: Readonly<Record<string, OptionRow>> = {
  /** Steps of refinement: more is better and slower. */
  steps: { kinds: ['zipvoice', 'pocket', 'supertonic'], min: 1, max: 64, isInteger: true },
  /** How closely it follows the text and the sample. */
  guidance_scale: { kinds: ['zipvoice'], min: 0.01, max: 20, config: 'guidanceScale' },
  /** Smaller: more of the steps go into the coarse shape of the sound. */
  t_shift: { kinds: ['zipvoice'], min: 0, max: 1, config: 'tShift' },
  /** A sample that is quieter is raised to this loudness; 1 is full scale. */
  target_rms: { kinds: ['zipvoice'], min: 0.001, max: 1, config: 'targetRms' },
  feat_scale: { kinds: ['zipvoice'], min: 0.001, max: 10, config: 'featScale' },
  /** How many voices stay prepared in memory. */
  voice_cache: { kinds: ['pocket'], min: 1, max: 10_000, isInteger: true, config: 'voiceEmbeddingCacheCapacity' },
  /** How much one reading differs from the next. */
  temperature: { kinds: ['pocket'], min: 0.01, max: 2, extra: 'temperature' },
  noise_scale: { kinds: ['vits', 'matcha'], min: 0, max: 2, config: 'noiseScale' },
  noise_scale_w: { kinds: ['vits'], min: 0, max: 2, config: 'noiseScaleW' },
};

export interface ChosenOptions {
  steps?: number;
  config: LibraryOptions;
  extra: LibraryOptions;
}

/** The options of a card for a model of the kind; what it cannot have is a fault of the card. */
export function chooseOptions(
  given: Readonly<Record<string, number>>,
  kind: ModelKind,
  addFault: (fault: string) => void,
): ChosenOptions {
  const config: Record<string, number> = {};
  const extra: Record<string, number> = {};
  for (const [name, value] of Object.entries(given)) {
    const row = optionRows[name];
    if (!row?.kinds.includes(kind)) {
      const own = Object.keys(optionRows).filter((each) => optionRows[each]!.kinds.includes(kind));
      addFault(`has the option ${name}; a model of the kind ${kind} has ${own.join(', ') || 'none'}`);
    } else if (value < row.min || value > row.max || (row.isInteger && !Number.isInteger(value))) {
      const what = row.isInteger ? 'a whole number' : 'a number';
      addFault(`has ${value} as ${name}; it must be ${what} from ${row.min} to ${row.max}`);
    } else {
      if (row.config !== undefined) config[row.config] = value;
      if (row.extra !== undefined) extra[row.extra] = value;
    }
  }
  return { ...(given.steps !== undefined && { steps: given.steps }), config, extra };
}
