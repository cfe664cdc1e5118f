// The contract that every engine fulfils. An engine speaks each Segment completely or throws, yields audio as it is
// generated, stops soon after its signal aborts, and keeps concurrent segments separate. It fails with `engine_error`,
// `engine_timeout` or `engine_unavailable`, with `retryAfterSeconds` if a retry may succeed (0 if the time is unknown).
// The guard (guard.ts) does everything else. test/conformance/engine.ts checks engines together with their guard.
import type { Pcm } from '../platform/pcm.ts';
import type { Settings, SettingValues } from '../platform/runtime/setting-types.ts';
import type { Metrics } from '../platform/telemetry/prometheus.ts';
import type { PhonemeRange } from '../text.ts';

export interface Voice {
  /** The id that callers send: 1 to 128 characters, unique among all engines. */
  voiceId: string;
  name: string;
  description: string;
  kind: 'stock' | 'cloned';
  engine: string;
  /** BCP-47 ranges: "en" covers "en-US" and "en-GB". The first range is the voice's own language. */
  languageCodes: readonly string[];
  labels: Readonly<Record<string, string>>;
  /** Changes whenever the voice speaks the same text differently; cached audio from other versions is out of date. */
  version: string;
  /**
   * Gain that brings this voice to -21 LUFS; it is applied outside the engine. Measure a few sentences with `gainDbFor`
   * (audio/loudness.ts).
   */
  gainDb: number;
}

/** Text that is spoken in one piece, usually one sentence or a part of it. */
export interface Segment {
  voice: Voice;
  /** Words and punctuation; never markup, never blank, at most `segmentCharsMax`. */
  text: string;
  /** The language of the text, which the voice covers. */
  languageCode: string;
  /** Speed, within `capabilities.speakingRates`. */
  speakingRate: number;
  /** Factor for the voice's pitch, within `capabilities.pitches`. Default: 1. */
  pitch?: number;
  /** How to speak, in free text, such as "Whisper."; only if `capabilities.instructions` is set. */
  instructions?: string;
  /** Seed of the engine's random choices, 0 to 2^32 - 1; only if `capabilities.seed` is set. */
  seed?: number;
  /** Ranges of the text, in order, with phonemes from `toPhonemes`. */
  phonemes?: readonly PhonemeRange[];
  /** Whether word times are requested. */
  timings: boolean;
  /** Whether the caller has received no audio yet. Urgent segments begin before others. */
  urgent: boolean;
  /** Whether nobody waits for the segment. If so, it is aborted when interactive speech begins, and repeated later. */
  isBackground?: boolean;
  /** Whether nothing is sent before the whole request is spoken, so that a suspect segment can be spoken again. */
  isHeld?: boolean;
  /** Whether earlier audio was faulty, or the caller did not want it. The engine should speak differently if it can. */
  isAgain?: boolean;
  /** The result of the engine's `cloning.make`, for a voice that is a clone. `voice` is then not in `Engine.voices`. */
  clone?: Uint8Array;
}

/** A range of the segment's text and its time: UTF-16 indices into `text`, seconds from the segment's first sample. */
export interface WordTime {
  from: number;
  to: number;
  startSeconds: number;
  endSeconds: number;
}

/** A piece of a segment's audio; all pieces of a segment have the same sample rate. Any piece may have word times. */
export interface SpokenPcm extends Pcm {
  words?: readonly WordTime[];
  /** Seconds of audio that will follow, if the engine knows it. Otherwise the first audible piece waits for the next. */
  secondsLeft?: number;
  /** Name of the server that spoke, if the engine calls servers. */
  server?: string;
}

export interface EngineCapabilities {
  /** Speeds that the engine reaches to within 3 %. The audio is stretched for other speeds. */
  speakingRates: { min: number; max: number };
  /** Pitch factors that the engine supports. Default: only 1. */
  pitches?: { min: number; max: number };
  /** Whether the engine follows instructions on how to speak. If not, the caller gets a warning. */
  instructions?: boolean;
  /** Whether the same seed gives the same audio, as far as possible. If not, the caller gets a warning. */
  seed?: boolean;
  /** Whether the engine reports word times. If not, they are estimated. */
  timings: boolean;
  /** Whether the engine reads numbers, dates and abbreviations. If not, Sonant spells them out. */
  readsNumbers: boolean;
  /** Longest segment in characters of text (UTF-16 units), at least 40. The engine never receives a longer segment. */
  segmentCharsMax: number;
  /**
   * Longest first segment of a request. Default: about four seconds of speech. Set this if the engine streams audio or
   * charges per segment, since short segments then gain nothing.
   */
  firstSegmentCharsMax?: number;
  /** Useful number of concurrent segments per request: the segment being read and the prefetched ones. */
  segmentsAtOnce: number;
  /** Largest number of segments started per minute, across all requests. Default: no limit. */
  segmentsPerMinute?: number;
  /** Largest number of concurrent segments across all requests; the number may change. Default: no limit. */
  segmentsSpokenMax?: number;
  /** Number of segments that one resource speaks at once (see `resourceOf`). Default: 1. */
  segmentsPerResource?: number;
  /** Largest number of clone segments started per minute, if clones have a separate limit. */
  cloneSegmentsPerMinute?: number;
  /**
   * Whether the engine's voices sound synthetic because they are built from formants or joined units, not by a neural
   * model. Natural voices are listed first.
   */
  isSynthetic?: boolean;
  /**
   * Whether a repeated segment has identical samples. Audio that a slow reader does not read can then be dropped and
   * generated again.
   */
  isRepeatable?: boolean;
  /** Whether each speaker is a separate model, so that one speaker can fail while other speakers work. */
  speakersFailAlone?: boolean;
  /** Longest wait for the first audio of a segment, and for each further piece. Defaults: 60 and 30 seconds. */
  firstSoundMsMax?: number;
  stallMsMax?: number;
}

/** Capabilities of one voice that differ from those of the engine. */
export type SpeakerCapabilities = Partial<
  Pick<
    EngineCapabilities,
    'speakingRates' | 'pitches' | 'instructions' | 'seed' | 'segmentCharsMax' | 'firstSegmentCharsMax'
  >
>;

/** Checked recordings, at the engine's sample rate, of the person whose voice is cloned. */
export interface CloneSample {
  /** The person speaking freely. */
  reference: Pcm;
  /** Transcript of the reference; empty if unknown. */
  referenceText: string;
  /** The same person reading the consent script. */
  consent: Pcm;
  consentScript: string;
  /** The language of both recordings. */
  languageCode: string;
}

/** How an engine clones voices. */
export interface Cloning {
  /** BCP-47 ranges of languages that samples may be in. */
  sampleLanguageCodes: readonly string[];
  /** BCP-47 ranges that a clone speaks besides the language of its sample. */
  languageCodesFor(sampleLanguageCode: string): readonly string[];
  sampleRateHz: number;
  /** Allowed length of the reference. */
  sampleSeconds: { min: number; max: number };
  /** Largest number of clones created per minute. Default: no limit. */
  clonesPerMinute?: number;
  /** Whether a transcript of the reference is required. */
  needsReferenceText: boolean;
  /** Consent sentences by language; empty if the engine does not check consent. */
  consentScripts: Readonly<Record<string, string>>;
  /**
   * Returns the clone, which is stored encrypted and passed back in `Segment.clone`. Anyone who has the clone can use
   * the voice. Throws `invalid_request` with the field if the engine rejects a sample.
   */
  make(sample: CloneSample, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Deletes a clone's copies on servers, before the clone itself is destroyed. Never fails: a copy that cannot be
   * deleted now is deleted later. Absent if the engine stores no such copies.
   */
  forget?(clone: Uint8Array): Promise<void>;
}

/** One part of a blend: a voice of the engine and its weight, from 0 to 1. */
export interface BlendPart {
  voiceId: string;
  weight: number;
}

/** A blend of several voices of the engine, each at most once. The weights add up to 1. */
export type Blend = readonly BlendPart[];

/** How an engine blends its voices. The object is replaced when a returned voice has changed. */
export interface Blending {
  /** Only voices of one group, such as a model, can be blended. Undefined for a voice that cannot be blended. */
  groupOf(voiceId: string): string | undefined;
  /**
   * Receives all stored blends each time. Returns their voices in the same order; undefined if a part is missing or
   * their groups differ. A blend speaks the languages of all its parts (`languagesOfBlend`) with the first part's
   * accent. If a blend is no longer passed, its voice still speaks until running requests end (see `keep`).
   */
  blend(blends: readonly Blend[]): readonly (Voice | undefined)[];
}

export interface Engine {
  name: string;
  /** The engine's voices. The array is replaced when they change. */
  readonly voices: readonly Voice[];
  capabilities: EngineCapabilities;
  /** Capabilities of a voice in a language, if they differ from the engine's; `segmentCharsMax` must not be larger. */
  capabilitiesOf?(voice: Voice, languageCode: string): SpeakerCapabilities;
  /** Absent if the engine cannot clone; it may appear and disappear with the voices. */
  readonly cloning?: Cloning | undefined;
  /**
   * Absent if the engine calls no servers. The engine's circuit breaker stays closed while one of the servers works.
   */
  readonly servers?: readonly EngineServer[];
  /** Absent if the engine cannot blend voices. */
  readonly blending?: Blending | undefined;
  /**
   * Yields the audio of a segment, or nothing if the text cannot be spoken. Even after an abort, it ends only when the
   * engine has finished its work on the segment, so that the next segment can begin.
   */
  speak(segment: Segment, signal: AbortSignal): AsyncIterable<SpokenPcm>;
  /**
   * Converts IPA phonemes to the engine's notation for `Segment.phonemes`. Returns undefined if the voice cannot
   * pronounce the phonemes. Absent if none of the engine's voices can pronounce phonemes.
   */
  toPhonemes?(ipa: string, voice: Voice, languageCode: string): string | undefined;
  /**
   * Name of the resource that speaks the segment, such as a loaded model (see `segmentsPerResource`). Empty if the name
   * depends on a clone that is not given.
   */
  resourceOf?(segment: Pick<Segment, 'voice' | 'languageCode' | 'clone'>): string;
  /**
   * Called when a request begins to use the voice. Returns a function that is called when the request ends. Until then,
   * a removed or changed voice continues to speak unchanged.
   */
  keep?(voice: Voice, clone?: Uint8Array): () => void;
  /** Frees all resources. Called after the signals of all segments have aborted. */
  close(): Promise<void>;
}

/** Logs a message for operators. The fields in `facts` never contain callers' texts or recordings. */
export type EngineLog = (level: 'info' | 'warn', message: string, facts: Readonly<Record<string, unknown>>) => void;

/** One of the servers that an engine calls. */
export interface EngineServer {
  /** Host and port; also the path if servers differ only in the path. */
  name: string;
  /** Number of this replica's requests that the server is working on or has queued. */
  outstanding: number;
  /** Number of outstanding requests without audio yet. */
  waiting: number;
  /** Largest number of concurrent requests of this process; 0 while the server gets no requests. */
  limit: number;
  /** Whether the server refuses further requests for now. */
  isFull: boolean;
}

/** The report of `sonant doctor` on an engine. `absent` is fine for an optional engine. */
export interface EngineReport {
  state: 'ready' | 'absent' | 'broken';
  message: string;
}

export interface EngineDefinition<S extends Settings = Settings> {
  name: string;
  /** Whether Sonant runs without the engine. */
  isOptional?: boolean;
  settings: S;
  /**
   * Whether the engine starts a program when it is opened. The service opens it, without a log and metrics, while its own
   * parts are loaded.
   */
  startsProgram?: boolean;
  /** Checks whether the engine can work here. Leaves no resources open. */
  inspect(settings: SettingValues<S>, dataDir: string): Promise<EngineReport>;
  /** Opens the engine. Returns undefined if an optional engine is not installed. Throws if the engine is broken. */
  open(settings: SettingValues<S>, dataDir: string, log?: EngineLog, metrics?: Metrics): Promise<Engine | undefined>;
  /**
   * Imports an operator's voice, completely or not at all. Returns the ids of the imported voices, or an empty list if
   * the imported model can only clone. Returns undefined if the file is not for this engine. Throws `invalid_request`
   * if the file cannot be used.
   */
  importVoice?(brought: BroughtVoice): Promise<readonly string[] | undefined>;
  /** How models of this engine are installed; `importVoice` imports them. */
  models?: EngineModels;
}

export interface EngineModels {
  /** The kinds of models in the table (src/library/models/models.json) that are this engine's. */
  kinds: readonly string[];
  /**
   * The folder with one folder per model, named after the model. Entries whose names begin with a dot are not models.
   */
  folder(dataDir: string): string;
  /** A folder with further models, which the package or the image brings. It is read-only, and may be absent. */
  packagedFolder?: string;
  /** A library that the engine needs for every model, installed separately. */
  library: EngineLibrary;
  /** Installs the library if it is missing. Throws `engine_unavailable` if that fails. */
  prepare(options: PrepareOptions): Promise<void>;
  /** Whether the folder of a model belongs to this engine, if engines share the folder of models. */
  isOwn?(folder: string): boolean;
  /** Name of the model that a service without a natural voice installs in the background. */
  firstModel?: string;
}

export interface EngineLibrary {
  /** Name and version. */
  name: string;
  licence: string;
  isHere(dataDir: string): boolean;
}

export interface PrepareOptions {
  dataDir: string;
  /** Whether downloads are forbidden, so that a missing library is an error. Default: false. */
  isOffline?: boolean;
  signal: AbortSignal;
  print(line: string): void;
}

/** A voice file or folder that the operator imports. */
export interface BroughtVoice {
  path: string;
  dataDir: string;
  /** Name of the voice. Default: the name of its file or folder. */
  name?: string;
  /** Further files of a model, and their names in the model's folder. */
  parts?: readonly { path: string; as: string }[];
  /** Expected SHA-256 of files, by name. */
  files?: Readonly<Record<string, string>>;
  /** Origin and licence, stored beside the model. */
  source?: Readonly<Record<string, unknown>>;
  /** Reports the unpacked share, 0 to 1. */
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

/** The voice of a blend: the voice of its first part, with the name, languages and gain of the blend. */
export const voiceOfBlend = (voiceId: string, parts: readonly { voice: Voice; weight: number }[]): Voice => ({
  ...parts[0]!.voice,
  voiceId,
  name: parts.map(({ voice, weight }) => `${voice.name} ${weight}`).join(', '),
  languageCodes: languagesOfBlend(parts.map(({ voice }) => voice)),
  gainDb: Math.round(10 * parts.reduce((sum, { voice, weight }) => sum + weight * voice.gainDb, 0)) / 10,
});
