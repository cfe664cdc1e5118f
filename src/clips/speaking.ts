// Speaks a complete text: into a clip if the answer is a link, or into memory if the answer is the audio. Audio in
// memory is also stored: before the answer if the store is quick, otherwise after the answer. If memory is short, audio
// goes directly to the store.
import type { Caller } from '../accounts.ts';
import type { Failure } from '../platform/errors.ts';
import type { Plan, Speech, SpeechEvent } from '../speech.ts';
import { toCaptioned } from './captions.ts';
import type { StorePatience } from './clip-cache.ts';
import type { ReadClip } from './clip-memory.ts';
import type { ClipRoom } from './clip-room.ts';
import type { ClipRow, ClipRows } from './clip-rows.ts';
import { type ClipWriter, openClipWriter, toClipRow } from './clip-writer.ts';
import type { ClipStore } from './stores/clip-store.ts';

/** Spoken audio. */
export interface Spoken {
  row: ClipRow;
  /** Opens the audio for one answer, if it is in memory. It is not if a link was requested or memory was short. */
  read?(): ReadClip;
}

export interface SizeLimit {
  bytesMax: number;
  refuse(byteCount: number): Failure;
}

export interface AudioWatch {
  /** Size limit for audio without a link. Larger audio ends the synthesis with a Failure. */
  sizeLimit?: SizeLimit | undefined;
  /** Called when the first audio is generated. */
  onFirstSound?: (() => void) | undefined;
  /** Called when the whole text has been spoken. */
  onSpoken?: (() => void) | undefined;
}

interface SpeakingOptions {
  speech: Pick<Speech, 'speak'>;
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'markDeleted'>;
  room: Pick<ClipRoom, 'reserve'>;
  patience: StorePatience;
  keepMs: number;
  onFault(fault: unknown): void;
}

export function createSpeaking(options: SpeakingOptions) {
  const { speech, clips, index, room, patience, keepMs, onFault } = options;
  const memory = createSoundMemory();

  const rowOptions = ({ request }: Plan, caller: Caller) => {
    return { keepMs, caller, isLinked: request.returnFormat === 'url', isCached: true };
  };

  const openWriter = (plan: Plan, caller: Caller, bytes: number) => {
    const { request, main } = plan;
    const captioned = request.captions.length > 0 ? toCaptioned(request.texts[0]!, main.languageCode) : undefined;
    return openClipWriter({ clips, index, room, bytes, captioned, ...rowOptions(plan, caller) });
  };

  const keep = (held: MemorySound, plan: Plan, caller: Caller) => {
    const store = async () => {
      // The memory may be released while a slow store makes room.
      const events = held.events();
      await using writer = await openWriter(plan, caller, held.done.byteCount);
      for (const event of events) await writer.write(event);
      return writer.row;
    };
    // The answer does not depend on the stored clip, so any failure is only reported.
    return patience.run(store).catch(onFault);
  };

  const intoClip = async (plan: Plan, caller: Caller, signal: AbortSignal, options: AudioWatch): Promise<Spoken> => {
    const watch = createWatch(options, signal);
    await using writer = await openWriter(plan, caller, plan.expectedBytes());
    for await (const event of speech.speak(plan, caller, signal)) {
      watch(event);
      await writer.write(event);
    }
    return { row: writer.row! };
  };

  return {
    intoClip,
    async intoMemory(plan: Plan, caller: Caller, signal: AbortSignal, options: AudioWatch): Promise<Spoken> {
      const expected = plan.expectedBytes();
      if (!memory.hasRoom(expected)) return intoClip(plan, caller, signal, options);
      const watch = createWatch(options, signal);
      const held = memory.open();
      let writer: ClipWriter | undefined;
      try {
        for await (const event of speech.speak(plan, caller, signal)) {
          watch(event);
          if (!writer && held.add(event)) continue;
          if (!writer) {
            writer = await openWriter(plan, caller, expected);
            for (const before of held.events()) await writer.write(before);
            held.release();
          }
          await writer.write(event);
        }
        if (writer) return { row: writer.row! };
        const row = await keep(held, plan, caller);
        // If the caller has left, nobody would read the answer.
        signal.throwIfAborted();
        // The audio stays in memory, because other clips may displace the stored clip before the answer is read.
        return { row: row ?? toClipRow(held.info, held.done, rowOptions(plan, caller)), read: () => held.read() };
      } catch (error) {
        held.release();
        throw error;
      } finally {
        await writer?.[Symbol.asyncDispose]();
      }
    },
  };
}

/** Returns a function for each event. It throws if the audio becomes too large, or if the caller leaves before the end. */
function createWatch({ sizeLimit, onFirstSound, onSpoken }: AudioWatch, signal: AbortSignal) {
  let byteCount = 0;
  return (event: SpeechEvent): void => {
    if (event.type === 'audio') {
      if (byteCount === 0) onFirstSound?.();
      byteCount += event.audio.length;
    }
    if (sizeLimit && byteCount > sizeLimit.bytesMax) throw sizeLimit.refuse(byteCount);
    if (event.type === 'done') {
      // Audio that nobody pays for must not be stored.
      signal.throwIfAborted();
      onSpoken?.();
    }
  };
}

const heldBytesMaxDefault = 128 << 20;

export function createSoundMemory(bytesMax = heldBytesMaxDefault) {
  const memory = { bytes: 0, bytesMax };
  return {
    hasRoom: (bytes: number): boolean => memory.bytes + bytes <= bytesMax,
    open: () => new MemorySound(memory),
  };
}

interface Memory {
  bytes: number;
  bytesMax: number;
}

/** Counted bytes of a `MemorySound`. Garbage collection also releases them, because an answer may never be read. */
interface Share {
  memory: Memory;
  bytes: number;
}

const giveBack = (share: Share) => {
  share.memory.bytes -= share.bytes;
  share.bytes = 0;
};
const forgotten = new FinalizationRegistry<Share>(giveBack);

class MemorySound {
  readonly #share: Share;
  #info: SpeechEvent<'info'> | undefined;
  #audio: SpeechEvent<'audio'>[] = [];
  #done: SpeechEvent<'done'> | undefined;
  #readers = 0;

  constructor(memory: Memory) {
    this.#share = { memory, bytes: 0 };
    forgotten.register(this, this.#share);
  }

  /** Adds an event of a stream. Returns false without adding the event if there is no room for its audio. */
  add(event: SpeechEvent): boolean {
    if (event.type === 'info') this.#info = event;
    else if (event.type === 'done') this.#done = event;
    else if (event.type === 'audio') {
      const { memory } = this.#share;
      const { length } = event.audio;
      if (memory.bytes + length > memory.bytesMax) return false;
      memory.bytes += length;
      this.#share.bytes += length;
      this.#audio.push(event);
    }
    return true;
  }

  /** Returns the added events in the order of a stream, without word times. */
  events(): (SpeechEvent<'info'> | SpeechEvent<'audio'> | SpeechEvent<'done'>)[] {
    return [...(this.#info ? [this.#info] : []), ...this.#audio, ...(this.#done ? [this.#done] : [])];
  }

  get info(): SpeechEvent<'info'> {
    return this.#info!;
  }

  get done(): SpeechEvent<'done'> {
    return this.#done!;
  }

  /** Opens the finished file for one answer. The memory is released when all opened files are read or closed. */
  read(): ReadClip {
    this.#readers++;
    let isOpen = true;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#readers--;
      if (this.#readers === 0) this.release();
    };
    return { pieces: this.#pieces(close), close };
  }

  async *#pieces(close: () => void): AsyncGenerator<Uint8Array> {
    const { head = new Uint8Array() } = this.done;
    let at = 0;
    try {
      for (const { audio } of this.#audio) {
        const over = head.subarray(at, at + audio.length);
        at += audio.length;
        yield over.length > 0 ? Buffer.concat([over, audio.subarray(over.length)]) : audio;
      }
    } finally {
      close();
    }
  }

  /** Releases the memory; the audio can no longer be read. */
  release(): void {
    giveBack(this.#share);
    this.#audio = [];
  }
}
