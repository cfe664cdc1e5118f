// Defines the events of speech.
import type { FormatName, Origin } from '../audio.ts';
import type { SegmentCheck, Voice } from '../engines.ts';
import type { TimedWord } from './word-timing.ts';

/** `ignored:` precedes the name of markup or of a field that has no effect, such as "ignored:phoneme". */
export type Warning = 'nothing_spoken' | 'transliterated' | 'fallback_engine' | `ignored:${string}`;

export interface SpeechInfo {
  type: 'info';
  audioId: string;
  voice: Voice;
  /** The engine voice that speaks. */
  speaker: Voice;
  /** Aborts when the voice may no longer be used; absent if the voice always remains usable. */
  ended?: AbortSignal | undefined;
  format: FormatName;
  contentType: string;
  sampleRateHz: number;
  chunkCount: number;
  chars: number;
  /** In live speech, each part that arrives may add some. */
  warnings: readonly Warning[];
  /** Voices named in the markup, without the request's own voice, and the engine voices that speak them. */
  others: readonly { voice: Voice; speaker: Voice }[];
  /** Versions of the lexicons that the voices use; empty if they use none. */
  lexiconVersions: readonly string[];
  /** The origin that the file states; undefined if files do not state it. */
  origin?: Origin | undefined;
  /** Hash of everything that the audio depends on. */
  cacheKey?(): string;
  /** URL of the audio, if the audio will be stored. */
  audioUrl?: string;
  manifestUrl?: string;
  expiresAt?: Date;
}

export interface SpeechAudio {
  type: 'audio';
  chunkIndex: number;
  /** Encoded audio, never empty. */
  audio: Uint8Array;
  /** Number of code points of the chunk (including markup) whose audio has begun. */
  chunkCharsBegun: number;
  /** Returns words whose audio has begun, even before the timestamps of the segment are complete. */
  wordsSoFar?(): readonly TimedWord[];
  /** Number of spoken code points whose audio has begun. These code points are charged. */
  charsBegun: number;
}

export interface SpeechTimestamps {
  type: 'timestamps';
  chunkIndex: number;
  words: readonly TimedWord[];
  quality: 'engine' | 'estimated';
  /** Language of the words, if the request left the language to Sonant. */
  languageCode?: string | undefined;
}

/** A mark in the markup, or a change of voice. */
export interface SpeechMark {
  type: 'mark';
  chunkIndex: number;
  kind: 'mark' | 'voice';
  /** Name of the mark, or the id of the new voice. */
  name: string;
  /** Seconds from the first sample of the request's audio. */
  seconds: number;
}

/**
 * Sent after all audio of the chunk, except for audio that the encoder still holds, which follows with the next chunk.
 */
interface SpeechChunkDone {
  type: 'chunk_done';
  chunkIndex: number;
  chars: number;
  startSeconds: number;
  endSeconds: number;
}

/** What was spoken for a segment, and the result of its checks. */
export interface SegmentReport extends SegmentCheck {
  /** The words as the caller wrote them, from the first to the last. */
  text: string;
  /** What the engine spoke, if it differs: "five o'clock" for "5:00". Given phonemes stand between slashes. */
  spoken?: string | undefined;
  /** Where the words begin: their text, and the position in it, in code points. */
  chunkIndex: number;
  offset: number;
  voiceId: string;
  engine: string;
  /** Start and duration in the audio. */
  startSeconds: number;
  seconds: number;
}

/** What the checks of the segments have found. */
export interface SpeechFindings {
  /** The segments that may not say their text; undefined if no segment could be judged. */
  suspects?: readonly SegmentReport[] | undefined;
  /** Number of segments that the recognizer left unchecked. */
  unchecked?: number | undefined;
}

export interface SpeechDone extends SpeechFindings {
  type: 'done';
  /** The segments with words, in order. */
  segments?: readonly SegmentReport[] | undefined;
  /** In live speech: this event with the findings of a recognizer, once it has heard the turn. Never rejects. */
  later?: Promise<SpeechDone> | undefined;
  chars: number;
  seconds: number;
  byteCount: number;
  /** Bytes that replace the start of the stream in a complete file, if they are known only at the end. */
  head?: Uint8Array | undefined;
  /** URL of the audio, if the audio is stored. */
  audioUrl?: string;
}

type AnyEvent = SpeechInfo | SpeechAudio | SpeechTimestamps | SpeechMark | SpeechChunkDone | SpeechDone;

/** An event, or the event with this type. */
export type SpeechEvent<Type extends AnyEvent['type'] = AnyEvent['type']> = Extract<AnyEvent, { type: Type }>;

/** Counts the events of a stream, each before the reader receives it. */
export interface Meter {
  count(event: SpeechEvent): void | Promise<void>;
  /** Called when the stream has ended, however it has ended. */
  end(): void | Promise<void>;
}
