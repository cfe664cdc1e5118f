// The contract of an engine, something that speaks. It speaks each Segment whole or throws, and never leaves out a word;
// yields sound as it is made; soon after its signal aborts it has stopped, with nothing left running; and it keeps segments
// that are spoken at once apart. It fails with `engine_error`, `engine_timeout` or `engine_unavailable`, and states
// `retryAfterSeconds` where the same may succeed later, 0 where it does not know when. All else the guard does for every
// engine (src/engines/guard.ts): it waits for a turn, retries, watches the clock, refuses overlong segments and
// silence, answers an abort, and answers for a closed engine. test/conformance/engine.ts checks both together.
import type { Pcm } from '../audio/pcm.ts';
import type { Settings, SettingValues } from '../runtime/setting.ts';
import type { PhonemeRange } from '../text/flat-text.ts';

export interface Voice {
  /** What callers send: 1 to 128 characters, unique over all engines. */
  voiceId: string;
  name: string;
  description: string;
  kind: 'stock' | 'cloned';
  engine: string;
  /** BCP-47 ranges: "en" covers "en-US" and "en-GB". The first is the voice's own. */
  languageCodes: readonly string[];
  labels: Readonly<Record<string, string>>;
  /** Changes when the voice speaks the same text differently: clips of the version before are then out of date. */
  version: string;
  /**
   * The gain that brings this voice to the common loudness of -21 LUFS; it is applied outside the engine. Measure a few
   * sentences with `gainDbFor` (audio/loudness.ts).
   */
  gainDb: number;
}

/** A stretch of text to speak at once: a few sentences at most. */
export interface Segment {
  voice: Voice;
  /** Words and the punctuation that colours them; never markup, never blank, at most `segmentCharsMax`. */
  text: string;
  /** The language of the text, one that the voice covers. */
  languageCode: string;
  /** Speed, within `capabilities.speakingRates`. */
  speakingRate: number;
  /** A factor on the voice's pitch, within `capabilities.pitches`. Default: 1. */
  pitch?: number;
  /** Ranges of the text, in order, that are pronounced as `toPhonemes` states. */
  phonemes?: readonly PhonemeRange[];
  /** Whether word times are wanted. */
  timings: boolean;
  /** First of its request, whose caller has heard nothing yet: it is begun before segments that are not. */
  urgent: boolean;
  /** Nobody waits for it: it is aborted when interactive speech begins, and asked for again later. */
  isBackground?: boolean;
  /** It was spoken before with a fault in the sound, which nobody heard. An engine that can speak it otherwise does so. */
  isAgain?: boolean;
  /** What the engine's `cloning.make` made, for a voice that is a clone; `voice` is then not one of `voices`. */
  clone?: Uint8Array;
}

/** When a stretch of a segment's text is heard: UTF-16 indices into `text`, seconds from the segment's first sample. */
export interface WordTime {
  from: number;
  to: number;
  startSeconds: number;
  endSeconds: number;
}

/** A piece of a segment's sound, all pieces at one rate. Word times may come with any piece. */
export interface SpokenPcm extends Pcm {
  words?: readonly WordTime[];
}

export interface EngineCapabilities {
  /** The speeds that the engine reaches itself, to within 3 %; beyond them the sound is stretched. */
  speakingRates: { min: number; max: number };
  /** The factors on a voice's pitch that it reaches. Default: none but 1. */
  pitches?: { min: number; max: number };
  /** Whether the engine times words; where it does not, word times are estimated. */
  timings: boolean;
  /** Whether it reads numbers, dates and abbreviations; where it does not, it is given them spelled out. */
  readsNumbers: boolean;
  /** The longest segment, in characters of text (UTF-16 units), at least 40. It is never given a longer one. */
  segmentCharsMax: number;
  /**
   * The longest first segment of a request. Default: what people say in four seconds. State it for an engine that sends
   * sound while it works on a segment, or is paid by the segment: short ones then gain nothing.
   */
  firstSegmentCharsMax?: number;
  /** How many segments of one request are worth having under way: the one being read and those begun behind it. */
  segmentsAtOnce: number;
  /** The most segments begun in a minute, of all requests. Default: no limit. */
  segmentsPerMinute?: number;
  /** The most segments spoken at once, of all requests: it is never given more. It may change. Default: no limit. */
  segmentsSpokenMax?: number;
  /** How many segments of one resource are spoken at once (`resourceOf`). Default: 1. */
  segmentsPerResource?: number;
  /** The most segments of clones begun in a minute, where these are counted apart. */
  cloneSegmentsPerMinute?: number;
  /** Whether its voices sound synthetic: of formants or joined units, not of a neural model. Natural ones are listed first. */
  isSynthetic?: boolean;
  /** Whether the same segment always sounds the same, sample for sample. What a reader does not read need not be kept then. */
  isRepeatable?: boolean;
  /** Whether each speaker is a model of its own, so that the failure of one says nothing about the others. */
  speakersFailAlone?: boolean;
  /** How long the first sound of a segment may take, and then each further piece. Default: one minute, 30 seconds. */
  firstSoundMsMax?: number;
  stallMsMax?: number;
}

/** What one voice of an engine does otherwise than the others. */
export type SpeakerCapabilities = Partial<
  Pick<EngineCapabilities, 'speakingRates' | 'pitches' | 'segmentCharsMax' | 'firstSegmentCharsMax'>
>;

/** Recordings of a person to be cloned, checked and brought to the engine's rate. */
export interface CloneSample {
  /** The person speaking freely. */
  reference: Pcm;
  /** What is said in it; empty where that is not known. */
  referenceText: string;
  /** The same person saying the consent script. */
  consent: Pcm;
  consentScript: string;
  /** The language of both. */
  languageCode: string;
}

/** How an engine clones voices. */
export interface Cloning {
  /** BCP-47 ranges that samples may be in. */
  sampleLanguageCodes: readonly string[];
  /** BCP-47 ranges that a clone speaks besides the language of its sample. */
  languageCodesFor(sampleLanguageCode: string): readonly string[];
  sampleRateHz: number;
  /** How long the reference may be. */
  sampleSeconds: { min: number; max: number };
  /** The most clones made in a minute. Default: no limit. */
  clonesPerMinute?: number;
  /** Whether it needs a transcript of the reference. */
  needsReferenceText: boolean;
  /** What a person says to consent, by language; empty where the engine does not check that. */
  consentScripts: Readonly<Record<string, string>>;
  /**
   * Returns the clone, from which the voice is spoken. Whoever holds it holds the voice: it is stored encrypted, and comes
   * back in `Segment.clone`. A sample that the engine does not accept is `invalid_request`, naming the field.
   */
  make(sample: CloneSample, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * The clone is not spoken any more, and is about to be destroyed: copies of it elsewhere are deleted. It never fails; what
   * cannot be deleted now is deleted later. Absent where there are none.
   */
  forget?(clone: Uint8Array): Promise<void>;
}

/** A part of a blend: one of the engine's own voices, and its share, 0 to 1. */
export interface BlendPart {
  voiceId: string;
  weight: number;
}

/** A voice made of several of the engine's own, each there once. The weights add up to 1. */
export type Blend = readonly BlendPart[];

/** How an engine blends its voices. Another object after a voice that it has answered has changed. */
export interface Blending {
  /** The name of those that blend with each other, such as their model; undefined for a voice that does not blend. */
  groupOf(voiceId: string): string | undefined;
  /**
   * All blends that are wanted, each time: the voice of each, in the same order, undefined where a part is not there or
   * the parts are of several groups. It speaks what all of its parts speak (`languagesOfBlend`), with the
   * accent of the first. `keep` holds for it as for any voice: one that is not wanted any more speaks to the end of the
   * requests under way.
   */
  blend(blends: readonly Blend[]): readonly (Voice | undefined)[];
}

export interface Engine {
  name: string;
  /** Its own voices. A different array after they have changed. */
  readonly voices: readonly Voice[];
  capabilities: EngineCapabilities;
  /** What differs for a voice in a language; `segmentCharsMax` is at most the engine's. */
  capabilitiesOf?(voice: Voice, languageCode: string): SpeakerCapabilities;
  /** Absent where it cannot clone; it may come and go with the voices. */
  readonly cloning?: Cloning | undefined;
  /** Absent where it calls no servers. While one of them works, a failure is not the engine's. */
  readonly servers?: readonly EngineServer[];
  /** Absent where it cannot blend voices. */
  readonly blending?: Blending | undefined;
  /**
   * Yields the sound of a segment; nothing where there is nothing to say in it. It ends when the engine has finished its
   * work on the segment, also after an abort: the next segment may be begun then.
   */
  speak(segment: Segment, signal: AbortSignal): AsyncIterable<SpokenPcm>;
  /**
   * A pronunciation in the International Phonetic Alphabet in the engine's own notation, which comes back in
   * `Segment.phonemes`; undefined where the voice cannot pronounce it. Absent where none can.
   */
  toPhonemes?(ipa: string, voice: Voice, languageCode: string): string | undefined;
  /**
   * The name of what speaks only so many segments at a time (`segmentsPerResource`), such as a loaded model; empty where the
   * clone that it depends on is not given.
   */
  resourceOf?(segment: Pick<Segment, 'voice' | 'languageCode' | 'clone'>): string;
  /**
   * A request begins to speak with the voice, until the result is called: a voice that is dropped or changed meanwhile
   * still speaks to the request's end, as it was.
   */
  keep?(voice: Voice, clone?: Uint8Array): () => void;
  /** Frees everything, after the signal of every segment has aborted. Nothing is spoken afterwards. */
  close(): Promise<void>;
}

/** Where an engine reports what operators should know. Texts and recordings of callers are never in it. */
export type EngineLog = (level: 'info' | 'warn', message: string, facts: Readonly<Record<string, unknown>>) => void;

/** Publishes the requests of this replica at each server, and returns those of the other replicas. */
export type ShareCounts = (counts: Readonly<Record<string, number>>) => Promise<{
  others: Readonly<Record<string, number>>;
  /** Replicas with requests under way, this one included. */
  replicas: number;
}>;

/** One of the servers that an engine calls. */
export interface EngineServer {
  /** Host and port. */
  name: string;
  /** Requests of this replica that it speaks or that wait at it. */
  outstanding: number;
  /** Those without any sound yet. */
  waiting: number;
  /** How many requests it may get at once from all replicas; 0 while it gets none, because it failed. */
  limit: number;
}

/** What an engine that calls several servers shares and reports. */
export interface ServerTools {
  share?: ShareCounts | undefined;
  /** A stream of a server ended; a stream that broke off has an underrun too, up to there. */
  onStream?(server: string, ended: { firstSoundMs: number | undefined; underrunSeconds: number }): void;
  /** The server is not used any longer. */
  onServerGone?(server: string): void;
}

/** What `sonant doctor` reports of an engine: `absent` is fine for an optional one. */
export interface EngineReport {
  state: 'ready' | 'absent' | 'broken';
  message: string;
}

export interface EngineDefinition<S extends Settings = Settings> {
  name: string;
  /** Whether Sonant runs without it. */
  isOptional?: boolean;
  settings: S;
  /** Finds out whether the engine can work here, and leaves nothing open. */
  inspect(settings: SettingValues<S>, dataDir: string): Promise<EngineReport>;
  /** Opens the engine; undefined where it is absent (optional and not installed). Throws where it is broken. */
  open(
    settings: SettingValues<S>,
    dataDir: string,
    log?: EngineLog,
    serverTools?: ServerTools,
  ): Promise<Engine | undefined>;
  /**
   * Imports a voice of the operator's, whole or not at all, and returns the ids of its voices: none where it only clones.
   * Undefined where the file is not for this engine; `invalid_request` where it is, and cannot be used.
   */
  importVoice?(brought: BroughtVoice): Promise<readonly string[] | undefined>;
  /** Models of this engine that can be fetched; `importVoice` then imports them. */
  models?: EngineModels;
}

export interface EngineModels {
  /** What can be fetched: rows as src/models/model-table.ts describes them. */
  table: unknown;
  /** The folder with a folder for each model, which is named after it. What begins with a dot there is no model. */
  folder(dataDir: string): string;
  /** What the engine needs to speak with any model, and comes separately. */
  library: EngineLibrary;
  /** Adds the library where it is missing; `engine_unavailable` where it cannot. */
  prepare(options: PrepareOptions): Promise<void>;
}

export interface EngineLibrary {
  /** With its version. */
  name: string;
  licence: string;
  isHere(dataDir: string): boolean;
}

export interface PrepareOptions {
  dataDir: string;
  /** Whether nothing is fetched: a library that is missing is then refused. Default: false. */
  isOffline?: boolean;
  signal: AbortSignal;
  print(line: string): void;
}

/** A file or folder of the operator's with a voice in it. */
export interface BroughtVoice {
  path: string;
  dataDir: string;
  /** The name of the voice. Default: the one it has. */
  name?: string;
  /** Further files of a model, and the names that they have in its folder. */
  parts?: readonly { path: string; as: string }[];
  /** The SHA-256 that files in it must have, by their names. */
  files?: Readonly<Record<string, string>>;
  /** Where it is from and under which licence, to be kept beside it. */
  source?: Readonly<Record<string, unknown>>;
  /** How much of it has been unpacked, 0 to 1. */
  onUnpacked?(share: number): void;
  signal: AbortSignal;
  /** Reports progress to the operator. */
  print(line: string): void;
}

/** Checks a definition against the types of its own settings, which the registry does not know. */
export const defineEngine = <S extends Settings>(definition: EngineDefinition<S>): EngineDefinition =>
  definition as unknown as EngineDefinition;

export function languagesOfBlend([first, ...others]: readonly Pick<Voice, 'languageCodes'>[]): readonly string[] {
  const isCovered = (code: string) => (range: string) => code === range || code.startsWith(`${range}-`);
  return first?.languageCodes.filter((code) => others.every((each) => each.languageCodes.some(isCovered(code)))) ?? [];
}
