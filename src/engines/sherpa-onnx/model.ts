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
  /** Code units of the decomposed text (NFKD), in the case they are written in. */
  | { by: 'codes'; has(codeUnit: number): boolean }
  /** By eSpeak NG or bytes, which read any text. */
  | { by: 'phonemes' };

/** Files with rules, in the library's form: paths with commas between them. They are rules of Chinese. */
export interface TextRules {
  fsts: string;
  archives: string;
}

/** A file with a style for each speaker, from which the model speaks: a list of 32-bit floats, or several. */
export interface StyleFile {
  path: string;
  /** Where the library's configuration names it: the kind of the model, and the member. */
  kind: string;
  member: string;
  /** Each list, speaker by speaker. What is before the first is the file's header. */
  sections: readonly { offset: number; bytesPerSpeaker: number }[];
  /** What the library multiplies the speed of each speaker with; empty where it does not. */
  speeds: readonly number[];
}

/** A style that is made of others: the numbers of speakers, and their weights, which add up to 1. */
export interface BlendedStyle {
  /** The same for the same style. */
  key: string;
  parts: readonly { sid: number; weight: number }[];
}

/** What a kind of model finds in a folder. */
export interface ModelFacts {
  /** The library's configuration, in its own names. */
  config: Readonly<Record<string, LibraryOptions>>;
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
  styles?: StyleFile;
  /** Steps of refinement, for a model that refines: more is better and slower. */
  steps?: number;
  /** A model that makes sound from noise: from the same seed it makes the same sound. */
  isSeeded?: boolean;
  /** The speeds that it reaches by itself. Default: 1, and the sound is stretched outside. */
  speakingRates?: { min: number; max: number };
  /** What tells the library the language of a text. */
  optionsFor?(languageCode: string): LibraryOptions;
}

interface ZeroShot {
  needsReferenceText: boolean;
  /** Recordings that come with the model: it speaks with their voices. */
  samples: readonly VoiceSample[];
}

export interface VoiceSample {
  name: string;
  path: string;
  /** What is said in it; empty where that is not known. */
  text: string;
}

export interface Model extends ModelFacts {
  modelId: string;
  folder: string;
  kind: ModelKind;
  card: ModelCard;
  languageCodes: readonly string[];
  /** By which the library spells out numbers and dates. */
  rules: TextRules;
  /** Further options of each request. */
  extra: LibraryOptions;
  /** Bytes of the files that are loaded. */
  fileBytes: number;
  /** Of its contents, and of what else changes its sound. */
  version: string;
  /** For a model whose speakers are blends of another's. */
  blended?: BlendedSpeakers;
}

export interface BlendedSpeakers {
  source: Model;
  /** For each of its speakers a style or none. */
  styles: readonly (BlendedStyle | undefined)[];
}
