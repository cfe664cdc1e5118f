// A family of models, such as hibari: how to recognise its graph, cut it, and compute sound with the parts. A graph has
// a front, which reads all phonemes of an utterance and gives their durations, and a decoder, which makes the samples
// of a range of frames, so that sound begins before the whole utterance is computed.
import type { OnnxModel } from './onnx-file.ts';
import type { OpenGraph, RuntimeStart } from './onnx-runtime.ts';
import type { Reading } from './reading.ts';

/** The numbers of the phonemes in a model. */
export type Vocabulary = Readonly<Record<string, number>>;

export interface Family {
  name: string;
  /** Whether a model needs no other files than those named like it, so that a folder may have several. */
  isAlone?: boolean;
  /** Whether the graph is of this family. */
  isOwn(model: OnnxModel): boolean;
  describe(found: FoundModel): Promise<DescribedModel>;
  /** Loads the model. `folder` has the files of `describe`. */
  open(model: OnnxModel, openGraph: OpenGraph, folder: string, is: RuntimeStart['is']): Promise<FamilyModel>;
}

export interface FoundModel {
  /** Path of the graph. */
  weights: string;
  sha256: string;
  /** Paths of all files that came with it. */
  files: readonly string[];
  /** Folders of the installed models. */
  installed: readonly string[];
}

export interface DescribedModel {
  /** Default: the name of the graph's file. */
  name?: string;
  /** Paths of the files that the model needs, by their names in its folder; undefined for a missing file. */
  files: Readonly<Record<string, string | undefined>>;
  /** The voices; the first one is the best. */
  speakers: readonly FoundSpeaker[];
}

export interface FoundSpeaker {
  /** The part of the voice's id after the model's name; empty if the model has one voice. */
  id: string;
  /** Default: the model's name. */
  name?: string;
  languageCode: string;
  gender?: string;
  /** Default: Sonant's phonemes of English. */
  reading?: Reading;
}

/** A speaker of the model and its weight in a blend; weights add up to 1. */
export interface SpeakerShare {
  id: string;
  weight: number;
}

export interface FamilyModel {
  sampleRateHz: number;
  /** How much earlier the sound comes than its duration says. */
  earlySeconds: number;
  /** Lengths of the windows; the last one repeats. Default: those of a fast model. */
  windowSeconds?: readonly number[];
  begin(asked: AskedUtterance): Promise<Utterance>;
}

export interface AskedUtterance {
  /** One character each; characters that the model does not know are silent. */
  phonemes: readonly string[];
  speakers: readonly SpeakerShare[];
  speed: number;
  /** The same seed gives the same samples. */
  seed: number;
}

export interface Utterance {
  frames: number;
  frameSamples: number;
  /** Frames at which each phoneme begins; the last number is the end of the last phoneme. */
  starts: readonly number[];
  /** Samples of a range of frames, which begins where the last one ended; those of the last few frames may follow later. */
  render(from: number, to: number): Promise<Float32Array>;
}
