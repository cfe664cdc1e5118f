// Converts models and requests to the library's configuration and names.
import anyAscii from 'any-ascii';
import { Failure } from '../../platform/errors.ts';
import type { LibraryOptions, Model, ModelFacts } from './model.ts';
import type { ModelRequest } from './model-child.ts';
import type { Speaker } from './model-voices.ts';
import type { Reference } from './reference.ts';

/** A text and its speaker. */
export interface SpokenBy {
  model: Model;
  text: string;
  speaker?: Speaker;
  /** The voice to clone, for a model without voices. */
  reference?: Reference;
  /** Language of the text. Default: the first language of the speaker or the model. */
  languageCode?: string;
  /** Speed, within the model's range. Default: 1. */
  speed?: number;
  /** Seed, for a model that generates audio from noise. Default: 1. */
  seed?: number | undefined;
  /** Whether the text is spoken a second time. A model that generates audio from noise then uses a different seed. */
  isAgain?: boolean;
}

const languageOf = ({ model, speaker, languageCode }: SpokenBy): string =>
  languageCode ?? speaker?.voice.languageCodes[0] ?? model.languageCodes[0]!;

/** The library speaks sentence by sentence, so that the first sentence is sent while the next one is generated. */
export const toLibraryConfig = ({ config }: Model, threads: number): object => ({
  model: { ...config, numThreads: threads, provider: 'cpu', debug: false },
  maxNumSentences: 1,
});

/**
 * Most models round each sound to whole frames, so that speed 2 becomes 1.8. Such models run at speed 1, and the audio
 * is stretched outside the engine. `silenceScale` keeps pauses; by default, the library shortens them to a fifth.
 */
export function toLibraryRequest(by: SpokenBy): ModelRequest {
  const { model, text, speaker, reference, speed = 1, seed, isAgain = false } = by;
  const extra: LibraryOptions = {
    ...model.extra,
    // The same seed gives the same audio. The library accepts 31-bit seeds.
    ...(model.isSeeded && { seed: (seed ?? (isAgain ? 2 : 1)) & 0x7fff_ffff }),
    ...model.optionsFor?.(languageOf(by)),
  };
  return {
    text,
    generationConfig: {
      sid: speaker?.sid ?? 0,
      speed,
      silenceScale: 1,
      ...(model.steps !== undefined && { numSteps: model.steps }),
      ...(reference && {
        referenceAudio: Float32Array.from(reference.samples, (sample) => sample / 32_768),
        referenceSampleRate: reference.sampleRateHz,
        referenceText: reference.text,
      }),
      ...(Object.keys(extra).length > 0 && { extra }),
    },
  };
}

// Prepares text for a model. A model silently drops characters that it has no token for, and its process may exit if
// nothing is left. So such characters are replaced by others that the model has, and text is refused if a word cannot
// be written with them.

const anyWord = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*/gu;

/** The text for the model; empty if there is nothing to say. */
export function toModelText(text: string, { hasCode }: Pick<ModelFacts, 'hasCode'>): string {
  const plain = text
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\s\ufffd]+/gu, ' ')
    .trim();
  if (!/[\p{L}\p{N}]/u.test(plain)) return '';
  return hasCode ? toCodes(plain, hasCode) : plain;
}

/**
 * Keeps a character if the model has all of its parts. The model's language marks such as <en> are never taken from the
 * text.
 */
function toCodes(text: string, hasCode: (codeUnit: number) => boolean): string {
  const has = (character: string) => {
    const decomposed = character.normalize('NFKD');
    return Array.from({ length: decomposed.length }, (_, i) => decomposed.charCodeAt(i)).every(hasCode);
  };
  const write = (character: string): string =>
    has(character)
      ? character
      : Array.from(anyAscii(character))
          .filter((each) => has(each))
          .join('');
  const safe = text.replace(/[<>]/g, ' ');
  for (const [word] of safe.matchAll(anyWord)) {
    if (![...word].some(write))
      throw new Failure('engine_error', {}, new Error(`the model has no token for "${word}"`));
  }
  return Array.from(safe, write).join('');
}
