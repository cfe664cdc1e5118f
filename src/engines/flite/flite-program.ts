// flite itself: a WebAssembly command that reads in.txt and writes out.wav, both of them in memory.
//   flite -voice rms --setf duration_stretch=1 [-psdur] -f in.txt -o out.wav
// It writes a WAV header of 44 bytes, then for each utterance opens out.wav again, patches the header and appends samples.
// One instance is used again and again: before each run its memory is put back as it was at birth, so that a run depends
// on nothing but its own input. After a trap, an exit or an exception the instance is thrown away.

import { fileOf, ProgramExit, type WasiFile, WasiHost } from './wasi.ts';
import { type WasmMemory, type WasmModule, webAssembly } from './web-assembly.ts';

/**
 * The linker's .rodata in the one build that flite-wasm.ts lets through: 17 of its 17.2 MB, the voices and the
 * dictionary. Nothing writes there (no byte changed in 2700 runs with hostile text), and so it is not put back.
 */
const readOnly = { from: 1024, to: 17_087_080 };
/** The stack lies just above, growing down: one that runs over shows here first. */
const tripwireBytes = 64 * 2 ** 10;
/** wasm memory never shrinks: an instance that has grown past this is not kept. */
const keptMemoryBytesMax = 64 * 2 ** 20;
const wavHeaderBytes = 44;
const complaintCharsMax = 500;

export interface FliteRun {
  /** All but the input and the output. */
  args: readonly string[];
  text: string;
  /** Files it may read besides, by path. */
  files?: ReadonlyMap<string, Uint8Array>;
  /** Takes the sound of one utterance; may throw to end the run. */
  onSound?(samples: Int16Array, sampleRateHz: number): void;
  /** Takes a line of what `-ps` and `-psdur` print, before the sound of its utterance. */
  onLine?(line: string): void;
}

export class FliteProgram {
  readonly #module: WasmModule;
  #instance: Instance | undefined;

  constructor(module: WasmModule) {
    this.#module = module;
  }

  /** What is held between runs. */
  get memoryBytes(): number {
    return this.#instance?.memoryBytes ?? 0;
  }

  /** Runs to the end, or throws: whatever `onSound` threw, or why the program failed. */
  run(run: FliteRun): void {
    const instance = this.#instance ?? new Instance(this.#module);
    this.#instance = undefined;
    instance.run(run);
    if (instance.memoryBytes <= keptMemoryBytesMax) this.#instance = instance;
  }
}

/** An instance whose memory can be put back. */
class Instance {
  readonly #host = new WasiHost();
  readonly #memory: WasmMemory;
  readonly #start: () => void;
  readonly #writable: Uint8Array;
  readonly #tripwire: Buffer;

  constructor(module: WasmModule) {
    const { exports } = new webAssembly.Instance(module, this.#host.imports);
    const { memory, _start } = exports as { memory: WasmMemory; _start: () => void };
    const bytes = new Uint8Array(memory.buffer);
    this.#memory = memory;
    this.#start = _start;
    this.#writable = bytes.slice(readOnly.to);
    this.#tripwire = Buffer.from(bytes.slice(readOnly.to - tripwireBytes, readOnly.to));
  }

  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  run(run: FliteRun): void {
    const lines = new Lines(run.onLine ?? (() => {}));
    let complaint = '';
    this.#reset();
    this.#host.enter(this.#memory, {
      args: ['flite', ...run.args, '-f', 'in.txt', '-o', 'out.wav'],
      file: filesOf(run),
      onOutput: (bytes) => lines.take(bytes),
      onError: (bytes) => {
        complaint = (complaint + Buffer.from(bytes).toString('latin1')).slice(0, complaintCharsMax);
      },
    });
    try {
      this.#start();
    } catch (error) {
      if (error instanceof ProgramExit) throw new Error(`${error.message}: ${complaint.trim()}`);
      throw error;
    }
    const tripwire = Buffer.from(this.#memory.buffer, readOnly.to - tripwireBytes, tripwireBytes);
    if (!tripwire.equals(this.#tripwire)) throw new Error('flite ran over the end of its stack');
  }

  #reset(): void {
    const bytes = new Uint8Array(this.#memory.buffer);
    bytes.fill(0, 0, readOnly.from);
    bytes.set(this.#writable, readOnly.to);
    bytes.fill(0, readOnly.to + this.#writable.length);
  }
}

function filesOf(run: FliteRun): (path: string) => WasiFile | undefined {
  const sound = new WavFile(run.onSound ?? (() => {}));
  // Without a line end, flite forgets a last sentence of one word: "Are you there? Yes."
  const text = fileOf(Buffer.from(`${run.text}\n`, 'latin1'));
  return (path) => {
    if (path === 'in.txt') return text;
    if (path === 'out.wav') return sound;
    const bytes = run.files?.get(path);
    return bytes && wholeFileOf(bytes, path);
  };
}

/** A file that is never read past its end unless some of it is missing. */
function wholeFileOf(bytes: Uint8Array, path: string): WasiFile {
  const file = fileOf(bytes);
  return {
    ...file,
    read(at, into) {
      if (at >= bytes.length && into.length > 0) throw new Error(`${path} ends too soon`);
      return file.read(at, into);
    },
  };
}

/** out.wav as flite writes it. An utterance is whole when the file is closed; only then is the header's rate true. */
class WavFile implements WasiFile {
  readonly #header = new Uint8Array(wavHeaderBytes);
  readonly #onSound: (samples: Int16Array, sampleRateHz: number) => void;
  #size = 0;
  #unheard: Uint8Array[] = [];

  constructor(onSound: (samples: Int16Array, sampleRateHz: number) => void) {
    this.#onSound = onSound;
  }

  size(): number {
    return this.#size;
  }

  read(at: number, into: Uint8Array): number {
    const part = this.#header.subarray(at, at + into.length);
    into.set(part);
    return part.length;
  }

  write(at: number, bytes: Uint8Array): void {
    const header = bytes.subarray(0, Math.max(0, wavHeaderBytes - at));
    this.#header.set(header, Math.min(at, wavHeaderBytes));
    this.#size = Math.max(this.#size, at + bytes.length);
    if (bytes.length > header.length) this.#unheard.push(bytes.slice(header.length));
  }

  close(): void {
    const [bytes, ...more] = this.#unheard;
    this.#unheard = [];
    if (bytes === undefined) return;
    const whole = more.length === 0 ? bytes : new Uint8Array(Buffer.concat([bytes, ...more]));
    this.#onSound(new Int16Array(whole.buffer), new DataView(this.#header.buffer).getUint32(24, true));
  }
}

/** Joins printed bytes into lines. */
class Lines {
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  take(bytes: Uint8Array): void {
    const lines = (this.#rest + Buffer.from(bytes).toString('latin1')).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) this.#onLine(line.trim());
  }
}
