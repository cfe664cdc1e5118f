// A model that was read from its folder and checked: what its files and the operator state about it.
import type { ModelCard, ModelKind } from './model-card.ts';

/** Further options for the library. */
export type LibraryOptions = Readonly<Record<string, string | number>>;

/** What the name of a speaker states about it. */
export interface NamedSpeaker {
  languageCodes?: readonly string[];
  labels?: Readonly<Record<string, string>>;
  extra?: LibraryOptions;
}

/** How the library makes tokens of text: what must be known to give it only text that it can read. */
export type Reading =
  | { by: 'characters'; tokens: ReadonlySet<string> }
  | { by: 'lexicon'; path: string }
  /** By eSpeak NG or bytes, which read any text. */
  | { by: 'phonemes' };

/** What a kind of model finds in a folder. */
export interface ModelFacts {
  /** The library's configuration, in its own names. */
  config: Readonly<Record<string, Readonly<Record<string, string>>>>;
  sampleRateHz: number;
  /** 0 for a model that clones the voice of a reference. */
  speakers: number;
  speakerNames: readonly string[];
  speakerOf?(name: string): NamedSpeaker;
  /** Languages, the best hint first. */
  languageHints: readonly string[];
  alsoSpeaks?: readonly string[];
  reading: Reading;
  zeroShot?: ZeroShot;
}

export interface ZeroShot {
  needsReferenceText: boolean;
  /** Steps of refinement: more is better and slower. */
  steps: number;
  extra: LibraryOptions;
}

export interface Model extends ModelFacts {
  modelId: string;
  folder: string;
  kind: ModelKind;
  card: ModelCard;
  languageCodes: readonly string[];
  /** Files with rules by which the library spells out numbers and dates, with commas between them. */
  rules: string;
  /** Of its contents. */
  version: string;
}
