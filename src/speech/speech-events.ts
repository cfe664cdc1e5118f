// What speech yields: the events of a stream, and the bytes gathered into pieces of a sensible size. The first piece
// leaves at once, with the info before it; later ones wait for a few kilobytes or the end of a segment.
import type { FormatName } from '../audio/formats.ts';
import type { Voice } from '../engines/engine.ts';
import type { OtherVoice, Warning } from './plan.ts';
import type { TimedWord } from './word-timing.ts';

export interface SpeechInfo {
  type: 'info';
  audioId: string;
  voice: Voice;
  /** Who of which engine it is spoken by. */
  speaker: Voice;
  /** Aborts when the voice may not be used any more; absent for one that cannot end. */
  ended?: AbortSignal | undefined;
  format: FormatName;
  contentType: string;
  sampleRateHz: number;
  chunkCount: number;
  chars: number;
  warnings: readonly Warning[];
  /** The voices that its markup asks for, besides its own. */
  others: readonly OtherVoice[];
  /** Of the content of the lexicons that are used, for each voice; none where none is. */
  lexiconVersions: readonly string[];
  /** Where the sound will be stored, and until when, if it is. */
  audioUrl?: string;
  expiresAt?: Date;
}

export interface SpeechAudio {
  type: 'audio';
  chunkIndex: number;
  /** 1 to `pieceBytesMax` bytes. */
  audio: Uint8Array;
  /** Code points of the chunk, with its markup, whose speaking has begun. */
  chunkCharsBegun: number;
  /** The words of the segment of which sound has been made, before they are all there to be told. */
  wordsSoFar?(): readonly TimedWord[];
  /** Of them those that are said: what is charged. */
  charsBegun: number;
}

export interface SpeechTimestamps {
  type: 'timestamps';
  chunkIndex: number;
  words: readonly TimedWord[];
  quality: 'engine' | 'estimated';
  /** What they are spoken in, where the request leaves that open. */
  languageCode?: string | undefined;
}

/** A mark of the markup, or a change of voice. */
export interface SpeechMark {
  type: 'mark';
  chunkIndex: number;
  kind: 'mark' | 'voice';
  /** Of the mark; for a voice, its id. */
  name: string;
  /** From the first sample of the request as it is sent. */
  seconds: number;
}

/** All audio of the chunk came before; what its encoder holds back comes with the next chunk. */
interface SpeechChunkDone {
  type: 'chunk_done';
  chunkIndex: number;
  chars: number;
  startSeconds: number;
  endSeconds: number;
}

export interface SpeechDone {
  type: 'done';
  chars: number;
  seconds: number;
  byteCount: number;
  /** What a whole file begins with in place of what the stream began with, where that had to wait for the end. */
  head?: Uint8Array | undefined;
  /** Where the sound is stored, if it is. */
  audioUrl?: string;
}

export type SpeechEvent = SpeechInfo | SpeechAudio | SpeechTimestamps | SpeechMark | SpeechChunkDone | SpeechDone;

const pieceBytesMax = 32 * 1024;
const pieceBytesMin = 8 * 1024;

export class EventBuffer {
  #info: SpeechInfo | undefined;
  /** What happened before there was any sound; it leaves behind the info. */
  #early: SpeechEvent[] = [];
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  byteCount = 0;

  constructor(info: SpeechInfo) {
    this.#info = info;
  }

  /** Takes bytes in and yields what leaves now: all that is held if `flush` is set. */
  *put(bytes: Uint8Array, at: Omit<SpeechAudio, 'type' | 'audio'>, flush: boolean): Generator<SpeechEvent> {
    if (bytes.length > 0) this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes === 0 || (this.#heldBytes < pieceBytesMin && !flush && !this.#info)) return;
    if (this.#info) {
      yield this.#info;
      yield* this.#early;
      this.#info = undefined;
    }
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    this.byteCount += all.length;
    for (let from = 0; from < all.length; from += pieceBytesMax) {
      yield { type: 'audio', ...at, audio: all.subarray(from, from + pieceBytesMax) };
    }
  }

  /** An event that is not sound; it leaves at once if sound has left before it. */
  *pass(event: SpeechEvent): Generator<SpeechEvent> {
    if (this.#info) this.#early.push(event);
    else yield event;
  }
}
