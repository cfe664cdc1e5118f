// Sound in memory: that of a request that is to be answered whether it can be stored or not. All of it together is limited;
// what does not fit goes to the store.
import type { SpeechAudio, SpeechDone, SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import type { ReadClip } from './clip-memory.ts';

const heldBytesMaxDefault = 128 << 20;

export interface SoundMemory {
  hasRoom(bytes: number): boolean;
  open(): HeldSound;
}

export interface HeldSound {
  /** Takes an event of a stream; false where there is no room for its sound, and then it is not taken. */
  add(event: SpeechEvent): boolean;
  /** What was taken, as a stream; without the words. */
  events(): (SpeechInfo | SpeechAudio | SpeechDone)[];
  readonly info: SpeechInfo;
  readonly done: SpeechDone;
  /** The finished file, for one answer; the memory is given back when all that were opened are read or closed. */
  read(): ReadClip;
  /** Gives the memory back; the sound can no longer be read. */
  release(): void;
}

export function createSoundMemory(bytesMax = heldBytesMaxDefault): SoundMemory {
  const memory = { bytes: 0, bytesMax };
  return {
    hasRoom: (bytes) => memory.bytes + bytes <= bytesMax,
    open: () => new MemorySound(memory),
  };
}

interface Memory {
  bytes: number;
  bytesMax: number;
}

/** The bytes of one sound. An answer may never be read: they are given back when the sound is collected, at the latest. */
interface Share {
  memory: Memory;
  bytes: number;
}

const giveBack = (share: Share) => {
  share.memory.bytes -= share.bytes;
  share.bytes = 0;
};
const forgotten = new FinalizationRegistry<Share>(giveBack);

class MemorySound implements HeldSound {
  readonly #share: Share;
  #info: SpeechInfo | undefined;
  #audio: SpeechAudio[] = [];
  #done: SpeechDone | undefined;
  #readers = 0;

  constructor(memory: Memory) {
    this.#share = { memory, bytes: 0 };
    forgotten.register(this, this.#share);
  }

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

  events(): (SpeechInfo | SpeechAudio | SpeechDone)[] {
    return [...(this.#info ? [this.#info] : []), ...this.#audio, ...(this.#done ? [this.#done] : [])];
  }

  get info(): SpeechInfo {
    return this.#info!;
  }

  get done(): SpeechDone {
    return this.#done!;
  }

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

  release(): void {
    giveBack(this.#share);
    this.#audio = [];
  }
}
