// A model that was read from its folder and checked, with the metadata from its files and from the operator.
import type { ModelCard, ModelKind } from './model-card.ts';

export type LibraryOptions = Readonly<Record<string, string | number>>;

/** A file with one style per speaker: one or several lists of 32-bit floats. */
export interface StyleFile {
  path: string;
  /** The lists in the file, each in the order of the speakers. The file's header precedes the first list. */
  sections: readonly { offset: number; bytesPerSpeaker: number }[];
}

/** A weighted sum of styles: speaker numbers and weights, which add up to 1. */
export interface BlendedStyle {
  /** Identical styles have the same key. */
  key: string;
  parts: readonly { sid: number; weight: number }[];
}

/** The metadata that the reader of a model kind finds in a folder. */
export interface ModelFacts {
  /** The library's configuration, in the library's names. */
  config: Readonly<Record<string, LibraryOptions>>;
  sampleRateHz: number;
  /** Number of speakers; 0 for a model that clones the voice of a reference. */
  speakers: number;
  speakerNames: readonly string[];
  /** Labels in the name of a speaker. */
  labelsOf?(name: string): Readonly<Record<string, string>>;
  /** The languages that the model speaks, best first. */
  languageCodes: readonly string[];
  /**
   * Whether the model has a token for a code unit of the decomposed text (NFKD). Absent if the library reads eSpeak NG's
   * phonemes or bytes, so that any text can be read.
   */
  hasCode?(codeUnit: number): boolean;
  zeroShot?: ZeroShot;
  styles?: StyleFile;
  /** Number of refinement steps, for a model that has them: more steps sound better but take longer. */
  steps?: number;
  /** Whether the model generates audio from noise; the same seed gives the same audio. */
  isSeeded?: boolean;
  /** Speeds that the model itself reaches. Default: only 1. The audio is stretched for other speeds. */
  speakingRates?: { min: number; max: number };
  /** Library options that state the language of a text. */
  optionsFor?(languageCode: string): LibraryOptions;
}

interface ZeroShot {
  needsReferenceText: boolean;
  /** Recordings that come with the model. The model can speak with their voices. */
  samples: readonly VoiceSample[];
}

export interface VoiceSample {
  name: string;
  path: string;
  /** Transcript; empty if unknown. */
  text: string;
}

export interface Model extends ModelFacts {
  modelId: string;
  folder: string;
  kind: ModelKind;
  card: ModelCard;
  /** Further options of each request. */
  extra: LibraryOptions;
  /** Bytes of the files that are loaded. */
  fileBytes: number;
  /** Version of the model's content and of everything else that changes its audio. */
  version: string;
  /** The blends, if the speakers of this model are blends of another model's speakers. */
  blended?: BlendedSpeakers;
}

export interface BlendedSpeakers {
  source: Model;
  /** The style of each speaker; undefined for an unused place. */
  styles: readonly (BlendedStyle | undefined)[];
}
