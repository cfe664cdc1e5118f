// Reads NAME.onnx.json, which Piper publishes with a voice: the numbers of its phonemes, its speakers, and how its
// phonemes are made from text.
import { Failure } from '../../platform/errors.ts';
import type { SoundIds } from './durations.ts';
import type { Accent } from './kokoro-letters.ts';
import type { Reading } from './reading.ts';

export const configName = 'piper.json';

export interface PiperConfig {
  /** Name of the voice; absent if it has none. */
  name: string | undefined;
  sampleRateHz: number;
  languageCode: string;
  reading: Reading;
  noiseScale: number;
  lengthScale: number;
  durationNoiseScale: number;
  /** Numbers of the speakers by the part of the voice's id; empty if the voice has one. */
  speakers: ReadonlyMap<string, number>;
  toIds(phonemes: readonly string[]): SoundIds;
}

const fault = (what: string) => new Failure('invalid_request', { message: `the voice's file .onnx.json ${what}` });

type Json = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const entriesMax = 10_000;
const nameCharsMax = 80;

export function readPiperConfig(text: string): PiperConfig {
  const config = parse(text);
  const [audio, inference, espeak, language] = ['audio', 'inference', 'espeak', 'language'].map((name) =>
    objectOf(config[name]),
  );
  const number = (value: unknown, name: string, min: number, max: number, fallback?: number): number => {
    if (value === undefined && fallback !== undefined) return fallback;
    if (typeof value === 'number' && value >= min && value <= max) return value;
    throw fault(`must have a number from ${min} to ${max} as ${name}`);
  };
  const espeakVoice = typeof espeak!.voice === 'string' ? espeak!.voice : '';
  const ids = new Map(
    Object.entries(objectOf(config.phoneme_id_map)).map(([phoneme, given]) => [phoneme, toNumbers(given)]),
  );
  for (const needed of ['_', '^', '$']) if (!ids.has(needed)) throw fault(`lacks the phoneme "${needed}"`);
  const clusters = new Set(
    Array.isArray(config.vowel_clusters) ? config.vowel_clusters.map((each) => [...each].join('')) : [],
  );
  return {
    name: typeof config.dataset === 'string' ? config.dataset.slice(0, nameCharsMax) || undefined : undefined,
    sampleRateHz: number(audio!.sample_rate, 'sample_rate', 8_000, 48_000),
    languageCode: toLanguageCode([language!.code, espeakVoice]),
    reading: toReading(config.phoneme_type ?? 'espeak', espeakVoice),
    noiseScale: number(inference!.noise_scale, 'noise_scale', 0, 2, 0.667),
    lengthScale: number(inference!.length_scale, 'length_scale', 0.1, 10, 1),
    durationNoiseScale: number(inference!.noise_w, 'noise_w', 0, 2, 0.8),
    speakers: readSpeakers(config),
    toIds(given) {
      const pad = ids.get('_')!;
      const all = [...ids.get('^')!, ...pad];
      const places: number[] = [];
      for (const [n, phoneme] of given.entries()) {
        places.push(all.length);
        // The first phoneme of a cluster stands for both.
        const isSecond = clusters.has((given[n - 1] ?? '') + phoneme) && n > 0;
        const cluster = phoneme + (given[n + 1] ?? '');
        const found = ids.get(clusters.has(cluster) ? cluster : phoneme) ?? ids.get(phoneme.toLowerCase());
        if (found && !isSecond) all.push(...found, ...pad);
      }
      places.push(all.length);
      return { ids: [...all, ...ids.get('$')!], places };
    },
  };
}

/** Sonant's own phonemes of English are as good as eSpeak NG's, and do not depend on what is installed. */
const english: Readonly<Record<string, Accent>> = { 'en-us': 'US', en: 'GB', 'en-gb': 'GB', 'en-gb-x-rp': 'GB' };

function toReading(kind: unknown, voice: string): Reading {
  if (kind === 'text') return { by: 'letters' };
  if (kind !== 'espeak') throw fault(`has the phoneme_type ${JSON.stringify(kind)}; Sonant knows "espeak" and "text"`);
  const accent = english[voice];
  if (accent) return { by: 'english', accent, notation: 'piper' };
  if (!/^[a-z]+(-[a-z0-9]+)*$/i.test(voice)) throw fault('must have the name of a language as voice of espeak');
  return { by: 'espeak', voice };
}

function parse(text: string): Json {
  try {
    return objectOf(JSON.parse(text));
  } catch (error) {
    throw fault(`cannot be read: ${(error as Error).message}`);
  }
}

function toNumbers(given: unknown): readonly number[] {
  const numbers = Array.isArray(given) ? given : [given];
  if (numbers.length > 0 && numbers.every((each) => Number.isSafeInteger(each) && each >= 0)) return numbers;
  throw fault('must have a list of numbers for each phoneme in phoneme_id_map');
}

function readSpeakers({ num_speakers: count = 1, speaker_id_map: map }: Json): ReadonlyMap<string, number> {
  if (!Number.isInteger(count) || !((count as number) >= 1 && (count as number) <= entriesMax))
    throw fault(`must have a number of speakers up to ${entriesMax}`);
  if (count === 1) return new Map();
  const names = Object.entries(objectOf(map)) as [string, number][];
  const isNamed = names.length > 0;
  return new Map(
    isNamed
      ? names.map(([name, n]) => [/^[\w.-]{1,40}$/.test(name) ? name : String(n), toNumbers(n)[0]!])
      : Array.from({ length: count as number }, (_, n) => [String(n), n]),
  );
}

function toLanguageCode(hints: readonly unknown[]): string {
  for (const hint of hints) {
    try {
      const [code] = typeof hint === 'string' ? Intl.getCanonicalLocales(hint.replaceAll('_', '-')) : [];
      if (code) return code;
    } catch {
      // The next hint may be readable.
    }
  }
  throw fault('states no language');
}
