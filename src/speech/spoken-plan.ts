// The audio and the events of a plan. Calls the engine for each cut, with the clone's data if the voice of the cut is a
// clone, and encodes the audio of all cuts into one file.
import { randomInt } from 'node:crypto';
import type { EngineGuards, Segment, SegmentCheck, SegmentOptions, SpokenPcm } from '../engines.ts';
import type { Pace } from '../platform/pace.ts';
import { firstOf } from '../platform/runtime/abort.ts';
import { type Casting, capabilitiesOf, type PlannedCut } from './cast.ts';
import type { FileOfTurns } from './live-turn.ts';
import type { CutPlan } from './plan.ts';
import { RequestSound } from './request-sound.ts';
import type { Admission } from './schedule.ts';
import type { Meter, SegmentReport, SpeechAudio, SpeechDone, SpeechEvent, SpeechInfo } from './speech-events.ts';
import type { Binding } from './voice.ts';
import { createWordAt, roundToMs, type WordAt } from './word-timing.ts';

export interface Speaking extends Pick<SegmentOptions, 'take' | 'pace' | 'listen' | 'deadlineMs'> {
  guardOf: EngineGuards;
  signal: AbortSignal;
  /** Whether the request is bulk, so that its segments are not urgent. */
  isBulk?: boolean;
  /** The file of the turns of live speech. Default: the audio is a file of its own. */
  file?: FileOfTurns | undefined;
  /** Set for background work: each segment is spoken completely and stored. */
  kept?: { keep: KeepSegment; run: RunKept } | undefined;
}

/**
 * Yields the stored audio of a cut and sets the cut's check. If none is stored, calls `speak`, which sets the check, and
 * stores the audio with the check.
 */
export type KeepSegment = (cut: PlannedCut, speak: SpeakWhole, signal: AbortSignal) => AsyncIterable<SpokenPcm>;

/** Runs work on a segment in the background. */
export type RunKept = <Result>(signal: AbortSignal, work: (by: AbortSignal) => Promise<Result>) => Promise<Result>;

/**
 * Makes an engine speak the whole segment. `isAgain` is set if the owner of a job has asked for another take; an engine
 * with seeds then uses another seed. Returns no pieces if the segment has no words.
 */
type SpeakWhole = (isAgain: boolean) => Promise<readonly SpokenPcm[]>;

export interface SpeakOptions {
  /** The pace of the reader. Default: the reader is never slow. */
  pace?: Pace | undefined;
  /** Opens the meter of the stream. Default: the stream is not charged. */
  openMeter?: (() => Meter | Promise<Meter>) | undefined;
}

/** What a call needs to speak. */
export interface Utterance
  extends SpeakOptions,
    Pick<Speaking, 'signal' | 'isBulk' | 'file' | 'kept' | 'listen' | 'deadlineMs'> {
  /** Cuts the texts for a choice of engines. */
  cut(casting: Casting): Promise<CutPlan>;
  /** Waits until the call may begin. */
  admit(): CallAdmission | Promise<CallAdmission>;
  /** Engines that are not tried. */
  failed?: Set<Binding>;
}

export interface CallAdmission extends Admission {
  /** Called when the caller has received a chunk. */
  partDone?(): void;
}

const nothing = new Uint8Array();
/** Shared by all calls, because creating an error captures a stack trace, which is slow. */
const unwanted = new Error('nobody waits for it');

export class SpokenPlan {
  readonly #plan: CutPlan;
  readonly #speaking: Speaking;
  readonly #opened = openBindings();
  readonly events: EventBuffer;
  readonly sound: RequestSound;
  /** The engine that is speaking, and all engines of the same voice. */
  present: { bindings: readonly Binding[]; binding: Binding };
  #voiceId: string;
  #chars = 0;
  #startSeconds = 0;
  /** The cuts with words whose audio was encoded. A report is complete when a recognizer has heard its cut. */
  readonly #spoken: SegmentReport[] = [];
  readonly #hearings: Promise<void>[] = [];
  #written: { chunkIndex: number; wordAt: WordAt } | undefined;

  constructor(plan: CutPlan, speaking: Speaking) {
    this.#plan = plan;
    this.#speaking = speaking;
    this.events = new EventBuffer(plan.info);
    this.sound = new RequestSound(plan.request, plan.info.origin, speaking.file);
    this.present = { bindings: plan.main.bindings, binding: plan.binding };
    this.#voiceId = plan.info.voice.voiceId;
  }

  async open(): Promise<void> {
    await this.#opened.open(this.#plan.binding);
    this.#speaking.signal.throwIfAborted();
  }

  /** Starts the speech of a cut. */
  readonly speak = (cut: PlannedCut): AsyncIterator<SpokenPcm> => {
    const { signal, kept } = this.#speaking;
    if (!kept) return this.#speakCut(cut, signal);
    const leaving = new AbortController();
    const until = AbortSignal.any([signal, leaving.signal]);
    const speakWhole: SpeakWhole = (isAgain) =>
      kept.run(until, (by) => Array.fromAsync(this.#speakCut(cut, by, isAgain)));
    const pieces = kept.keep(cut, speakWhole, until)[Symbol.asyncIterator]();
    return {
      next: () => pieces.next(),
      // `return` alone is too late: a generator that awaits its first piece handles `return` only afterwards.
      return: async () => {
        leaving.abort(unwanted);
        return { done: true, value: await pieces.return?.() };
      },
    };
  };

  /** Begins to encode a cut. Returns the place of its audio. */
  async begin(cut: PlannedCut): Promise<Omit<SpeechAudio, 'type' | 'audio'>> {
    const { chunkIndex, chunkCharsBegun, charsBegun, rendering } = cut;
    if (rendering) this.present = { bindings: rendering.cast.bindings, binding: rendering.binding };
    await this.sound.open();
    this.sound.begin(cut);
    return { chunkIndex, chunkCharsBegun, charsBegun, wordsSoFar: () => this.sound.wordsSoFar(cut) };
  }

  /** The last events of a cut whose audio was encoded. */
  finish(cut: PlannedCut, at: Omit<SpeechAudio, 'type' | 'audio'>): readonly SpeechEvent[] {
    const { chunkIndex, chunkChars: chars, rendering, endsChunk, endsRequest } = cut;
    const { sound, events } = this;
    this.#report(cut);
    // All audio of a chunk is sent before the end of the chunk is reported. The last chunk includes the audio that the
    // encoder held back.
    const audio = events.put(endsRequest ? sound.end() : nothing, at, true);
    const told: SpeechEvent[] = [];
    if (rendering && rendering.voice.voiceId !== this.#voiceId) {
      this.#voiceId = rendering.voice.voiceId;
      const seconds = sound.segmentSeconds;
      told.push({ type: 'mark', chunkIndex, kind: 'voice', name: this.#voiceId, seconds });
    }
    told.push(...sound.tell(cut));
    if (endsChunk) {
      const [startSeconds, endSeconds] = [this.#startSeconds, sound.seconds];
      this.#chars += chars;
      this.#startSeconds = endSeconds;
      told.push({ type: 'chunk_done', chunkIndex, chars, startSeconds, endSeconds });
    }
    return [...audio, ...events.pass(told)];
  }

  /** Notes what was spoken for a cut. */
  #report(planned: PlannedCut): void {
    const { chunkIndex, cut, rendering, check = { takes: 1 } } = planned;
    if (!cut || !rendering) return;
    const [text, spoken] = [this.#writtenIn(planned), spokenIn(cut)];
    // What a recognizer hears later is added to the same object.
    const report = Object.assign(check, {
      text,
      spoken: spoken === text ? undefined : spoken,
      chunkIndex,
      offset: cut.spans[0]?.offset ?? 0,
      voiceId: rendering.voice.voiceId,
      engine: rendering.binding.engine.name,
      startSeconds: roundToMs(this.sound.segmentSeconds),
      seconds: roundToMs(this.sound.segmentDuration),
    });
    this.#spoken.push(report);
  }

  /** The words of a cut as written, without the markup between them. */
  #writtenIn({ chunkIndex, chunk, cut }: PlannedCut): string {
    const { spans, text } = cut!;
    const [first, last] = [spans[0], spans.at(-1)];
    if (!first || !last) return text;
    if (first.written !== undefined) return spans.map(({ written }) => written).join(' ');
    if (this.#written?.chunkIndex !== chunkIndex) this.#written = { chunkIndex, wordAt: createWordAt(chunk) };
    return this.#written.wordAt(first.offset, last.offset + last.length - first.offset);
  }

  /** Resolves when a recognizer has heard all segments; undefined if it hears none. */
  heard(): Promise<unknown> | undefined {
    return this.#hearings.length > 0 ? Promise.all(this.#hearings) : undefined;
  }

  done(): SpeechDone {
    const { encodedSeconds: seconds, head } = this.sound;
    const segments = this.#spoken.map((report) => ({ ...report }));
    const isUnheard = ({ wordErrors }: SegmentCheck) => this.#speaking.listen && wordErrors === undefined;
    return {
      type: 'done',
      chars: this.#chars,
      seconds,
      byteCount: this.events.byteCount,
      segments,
      suspects: segments.some(({ faults }) => faults) ? segments.filter(({ faults }) => faults?.length) : undefined,
      unchecked: segments.filter(isUnheard).length || undefined,
      head,
    };
  }

  close(): void {
    this.#opened.close();
    this.sound.close();
  }

  #speakCut(planned: PlannedCut, signal: AbortSignal, isAgain = false): AsyncIterableIterator<SpokenPcm> {
    const { cut, breakBefore, rendering, marks, emphasized } = planned;
    if (!cut || !rendering) return silent();
    const { guardOf, take, pace, isBulk, kept, listen, deadlineMs } = this.#speaking;
    const { binding, ended, languageCode, engineRate: speakingRate, pitch, manner } = rendering;
    const { engine, speaker: voice } = binding;
    const isTimed = this.#plan.request.timestamps || marks.length > 0 || emphasized.length > 0;
    const segment: Segment = {
      voice,
      text: cut.text,
      languageCode,
      speakingRate,
      timings: isTimed && engine.capabilities.timings,
      urgent: breakBefore === undefined && !kept && !isBulk,
      ...(kept && { isBackground: true }),
      // Nothing is sent before the request, or the segment of a job, is complete.
      ...((kept || this.#plan.request.method === 'rest') && { isHeld: true }),
      ...(pitch !== 1 && { pitch }),
      ...manner,
      ...(isAgain && { isAgain, ...(capabilitiesOf(binding, languageCode).seed && { seed: randomInt(2 ** 32) }) }),
      ...(cut.phonemes && { phonemes: cut.phonemes }),
    };
    const until = firstOf(signal, ended);
    const onChecked = (check: SegmentCheck, heard?: Promise<SegmentCheck>) => {
      planned.check = check;
      if (heard) this.#hearings.push(heard.then((complete) => void Object.assign(check, complete)));
    };
    const options = { take, pace, onChecked, listen, repairs: this.#plan.request.verify === 'repair', deadlineMs };
    const speakWith = (clone: Uint8Array | undefined) =>
      guardOf(engine).speak(clone ? { ...segment, clone } : segment, until, options);
    // Calls the engine synchronously if the binding is open.
    const ready = this.#opened.ready(binding);
    return ready ? speakWith(ready.clone) : later(this.#opened.open(binding).then(speakWith));
  }
}

/** The text of a cut from its first to its last word, with the given phonemes in place of their words. */
function spokenIn({ text, phonemes = [] }: NonNullable<PlannedCut['cut']>): string {
  let spoken = '';
  let at = 0;
  for (const range of phonemes) {
    spoken += `${text.slice(at, range.from)}/${range.phonemes}/`;
    at = range.to;
  }
  return `${spoken}${text.slice(at)}`.replace(/^[^\p{L}\p{N}/]+|[^\p{L}\p{N}\p{M}/]+$/gu, '');
}

async function* silent(): AsyncGenerator<SpokenPcm> {}

function later(opening: Promise<AsyncIterableIterator<SpokenPcm>>): AsyncIterableIterator<SpokenPcm> {
  opening.catch(() => {});
  const pieces: AsyncIterableIterator<SpokenPcm> = {
    next: async () => (await opening).next(),
    return: async () => (await opening).return!(),
    [Symbol.asyncIterator]: () => pieces,
  };
  return pieces;
}

function openBindings() {
  const opened = new Map<Binding, Promise<Uint8Array | undefined>>();
  const ready = new Map<Binding, { clone: Uint8Array | undefined }>();
  const releases: (() => void)[] = [];
  let isClosed = false;
  const openBinding = async (binding: Binding) => {
    const { engine, speaker } = binding;
    const clone = await binding.openClone?.();
    const release = engine.keep?.(speaker, clone);
    if (isClosed) release?.();
    else if (release) releases.push(release);
    ready.set(binding, { clone });
    return clone;
  };
  return {
    /** Returns an object with the clone's data, if there is a clone; undefined if the binding is not open. */
    ready: (binding: Binding) => ready.get(binding),
    /** Opens the binding. Resolves to the clone's data if the voice is a clone. */
    open(binding: Binding): Promise<Uint8Array | undefined> {
      const opening = opened.get(binding) ?? openBinding(binding);
      // Prevents an unhandled rejection. Callers that await `opening` still receive the failure.
      opening.catch(() => {});
      opened.set(binding, opening);
      return opening;
    },
    close(): void {
      isClosed = true;
      for (const release of releases.splice(0)) release();
    },
  };
}

const pieceBytesMax = 32 * 1024;
const pieceBytesMin = 8 * 1024;

/**
 * Collects audio into pieces. The first piece is sent at once, after the info; later pieces wait for a few kilobytes or
 * the end of a segment.
 */
class EventBuffer {
  #info: SpeechInfo | undefined;
  /** Events that precede the first audio. They are sent after the info. */
  #early: SpeechEvent[] = [];
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  byteCount = 0;

  constructor(info: SpeechInfo) {
    this.#info = info;
  }

  /** Adds bytes and returns the pieces to send now. If `flush` is set, all bytes are sent. */
  put(bytes: Uint8Array, at: Omit<SpeechAudio, 'type' | 'audio'>, flush: boolean): readonly SpeechEvent[] {
    if (bytes.length > 0) this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes === 0 || (this.#heldBytes < pieceBytesMin && !flush && !this.#info)) return [];
    const sent: SpeechEvent[] = this.#info ? [this.#info, ...this.#early] : [];
    this.#info = undefined;
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    this.byteCount += all.length;
    for (let from = 0; from < all.length; from += pieceBytesMax)
      sent.push({ type: 'audio', ...at, audio: all.subarray(from, from + pieceBytesMax) });
    return sent;
  }

  /** Returns the events, which are no audio. Before the first audio, stores them instead. */
  pass(events: readonly SpeechEvent[]): readonly SpeechEvent[] {
    if (!this.#info) return events;
    this.#early.push(...events);
    return [];
  }
}
