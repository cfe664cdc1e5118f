// The contract of an engine, something that can speak. It says each Segment whole or throws, never leaving out a word;
// yields sound as it is made, and stops making it when its reader has stopped; ends within 50 ms of an abort with the
// signal's reason and leaves nothing running; keeps segments that are spoken at once apart; and fails with Failures:
// `engine_error`, `engine_timeout`, `engine_unavailable`. It says `retryAfterSeconds` where the same may go well later, 0
// where it was not told when, and leaves trying again, like waiting, to the heart. test/conformance/engine.ts checks it.
import type { Pcm } from '../audio/pcm.ts';
import type { Settings, SettingValues } from '../setting.ts';

/** Someone to speak with. */
export interface Voice {
  /** What callers ask for: 1 to 128 characters, unique over all engines. */
  voiceId: string;
  name: string;
  description: string;
  kind: 'stock' | 'cloned';
  engine: string;
  /** BCP-47 ranges: "en" covers "en-US" and "en-GB". The first is the voice's own. */
  languageCodes: readonly string[];
  labels: Readonly<Record<string, string>>;
  /** Another one where the voice says the same text otherwise than before: what was kept of it is then out of date. */
  version: string;
  /**
   * What brings this voice to the house loudness, -21 LUFS; the heart adds it. The engine measures a few sentences of
   * the voice: `gainDbFor` (audio/loudness.ts) tells the gain of a sound. 0 is for a voice that is right as it is.
   */
  gainDb: number;
}

/** A stretch of text to speak in one breath of work: a few sentences at most. */
export interface Segment {
  voice: Voice;
  /** What to say: words and the punctuation that colours them; never markup, never blank. */
  text: string;
  /** The language of the text, one that the voice covers. */
  languageCode: string;
  /** Speed, within `capabilities.speakingRates`. */
  speakingRate: number;
  /** Whether word times are wanted. */
  timings: boolean;
  /** First of its request: someone waits to hear it, so it goes before segments of requests already heard. */
  urgent: boolean;
  /** What the engine's `cloning.make` made, where a clone is to speak; the voice is then not one of `voices`. */
  clone?: Uint8Array;
}

/** When a stretch of a segment's text is heard: UTF-16 indices into `text`, seconds from the segment's first sample. */
export interface WordTime {
  from: number;
  to: number;
  startSeconds: number;
  endSeconds: number;
}

/** A piece of a segment's sound. Word times may ride on any piece. */
export interface SpokenPcm extends Pcm {
  words?: readonly WordTime[];
}

export interface EngineCapabilities {
  /** The speeds it does itself, to within 3 %; the heart does what lies beyond. */
  speakingRates: { min: number; max: number };
  /** Whether the engine itself times words; where not, the heart estimates. */
  timings: boolean;
  /** Whether it reads numbers, dates and abbreviations itself; where not, the heart spells them out in words. */
  readsNumbers: boolean;
  /**
   * The longest segment it wants, in characters of text (UTF-16 units), at least 40: the heart gives it no longer one.
   * One that is longer all the same is said whole, or refused with `engine_error` before any of it is heard.
   */
  segmentCharsMax: number;
  /**
   * How long the first segment of a request may be; absent for what people say in four seconds. To be stated by an engine
   * that sends sound while it is at work on a segment, or is paid by the segment: short ones then gain nothing.
   */
  firstSegmentCharsMax?: number;
  /** How many segments of one request are worth having in the works: the one being read and those begun behind it. */
  segmentsAtOnce: number;
  /** The most segments it may be given in a minute, and the most it speaks at once, of all requests; absent for no limit. */
  segmentsPerMinute?: number;
  segmentsSpokenMax?: number;
  /** The most segments of clones in a minute, where these are counted apart. */
  cloneSegmentsPerMinute?: number;
  /** Whether its speakers fail one by one, each a model of its own: one that does says nothing of the others. */
  speakersFailAlone?: boolean;
  /** How long to wait for the first sound of a segment, and then for more of it; absent for the usual. */
  firstSoundMsMax?: number;
  stallMsMax?: number;
}

/** What a person gives to be cloned, checked and brought to the engine's rate. */
export interface CloneSample {
  /** The person speaking freely. */
  reference: Pcm;
  /** What is said in it; empty where that was not told. */
  referenceText: string;
  /** The same person saying the consent script. */
  consent: Pcm;
  consentScript: string;
  /** The language of both. */
  languageCode: string;
}

/** How an engine makes voices of people. */
export interface Cloning {
  /** BCP-47 ranges that samples may be in. */
  sampleLanguageCodes: readonly string[];
  /** BCP-47 ranges that a clone speaks besides the language of its sample. */
  languageCodesFor(sampleLanguageCode: string): readonly string[];
  sampleRateHz: number;
  /** How much of a person it wants to hear. */
  sampleSeconds: { min: number; max: number };
  /** How many it makes in a minute; absent for no limit. */
  clonesPerMinute?: number;
  /** Whether it must be told what is said in the reference. */
  needsReferenceText: boolean;
  /** What a person is to say to consent, by language; empty where the engine does not listen to that. */
  consentScripts: Readonly<Record<string, string>>;
  /**
   * Answers what the clone is spoken from, whoever holds it holds the voice: it is kept encrypted, and comes back in
   * `Segment.clone`. A sample that the engine does not take is `invalid_request`, naming the field.
   */
  make(sample: CloneSample, signal: AbortSignal): Promise<Uint8Array>;
}

export interface Engine {
  name: string;
  /** Its own voices. Another array when they have become others. */
  readonly voices: readonly Voice[];
  capabilities: EngineCapabilities;
  /** Absent where it cannot clone. */
  cloning?: Cloning;
  speak(segment: Segment, signal: AbortSignal): AsyncIterable<SpokenPcm>;
  /**
   * Ends what is running and frees everything. What was running fails with `engine_unavailable`, unless it was done, and
   * so does every `speak` after it. To close again does nothing.
   */
  close(): Promise<void>;
}

/** What `sonant doctor` says of an engine: `absent` is fine for an optional one. */
export interface EngineReport {
  state: 'ready' | 'absent' | 'broken';
  message: string;
}

export interface EngineDefinition<S extends Settings = Settings> {
  name: string;
  /** Set where Sonant does well without it. */
  isOptional?: boolean;
  settings: S;
  /** Finds out whether the engine can work here, and leaves nothing open. */
  inspect(settings: SettingValues<S>, dataDir: string): Promise<EngineReport>;
  /** Opens it, or answers undefined where it is absent (optional and not installed). Throws where it is broken. */
  open(settings: SettingValues<S>, dataDir: string): Promise<Engine | undefined>;
  /**
   * Takes in a voice that the operator brings, whole or not at all, and answers the ids of its voices: none where it only
   * clones. Undefined where it is nothing of this engine's; `invalid_request` where it is, and cannot be used.
   */
  importVoice?(brought: BroughtVoice): Promise<readonly string[] | undefined>;
}

/** A file or folder with a voice in it, of the operator's own. */
export interface BroughtVoice {
  path: string;
  dataDir: string;
  /** What it is to be called; absent for the name it has. */
  name?: string;
  signal: AbortSignal;
  /** Tells the operator how it goes. */
  print(line: string): void;
}

/** Keeps the types of a definition's settings; the registry forgets them. */
export const defineEngine = <S extends Settings>(definition: EngineDefinition<S>): EngineDefinition =>
  definition as unknown as EngineDefinition;
