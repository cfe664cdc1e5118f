// flite itself: a WebAssembly command that reads in.txt and writes out.wav, both in memory. It writes a WAV header of
// 44 bytes; for each utterance it opens out.wav again, patches the header and appends samples. One instance of the
// program is reused: its memory is reset before each run, so that a run depends only on its input. After a trap, an
// exit or an exception the instance is discarded.
//     flite -voice rms --setf duration_stretch=1 [-psdur] -f in.txt -o out.wav
import { join } from '../../platform/pcm.ts';
import { type WasmMemory, type WasmModule, webAssembly } from '../../platform/web-assembly.ts';
import { fileOf, ProgramExit, type WasiFile, WasiHost } from './wasi.ts';

/**
 * Range of the read-only data (voices and dictionary, 17 of 17.2 MB) in the only build that wasi.ts accepts. Nothing
 * writes there (no byte changed in 2700 runs with hostile text), so it is not reset.
 */
const readOnly = { from: 1024, to: 17_087_080 };
/** The stack ends just above `readOnly` and grows down, so an overflow first changes the last bytes of `readOnly`. */
const tripwireBytes = 64 * 2 ** 10;
/** WebAssembly memory never shrinks, so an instance larger than this is not reused. */
const reusedMemoryBytesMax = 64 * 2 ** 20;
const wavHeaderBytes = 44;
const complaintCharsMax = 500;

interface FliteRun {
  /** Arguments except `-f` and `-o`. */
  args: readonly string[];
  text: string;
  /** Called with the audio of one utterance. May throw to end the run. */
  onSound?(samples: Int16Array, sampleRateHz: number): void;
  /** Called with each line that `-ps` and `-psdur` print, before the audio of its utterance. */
  onLine?(line: string): void;
}

export class FliteProgram {
  readonly #module: WasmModule;
  #instance: Instance | undefined;

  constructor(module: WasmModule) {
    this.#module = module;
  }

  /** Memory held between runs. */
  get memoryBytes(): number {
    return this.#instance?.memoryBytes ?? 0;
  }

  /** Runs the program to completion. Throws the error of `onSound`, or the reason why the program failed. */
  run(run: FliteRun): void {
    const instance = this.#instance ?? new Instance(this.#module);
    this.#instance = undefined;
    instance.run(run);
    if (instance.memoryBytes <= reusedMemoryBytesMax) this.#instance = instance;
  }
}

/** An instance whose memory can be reset. */
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
    let complaint = '';
    this.#reset();
    this.#host.enter(this.#memory, {
      args: ['flite', ...run.args, '-f', 'in.txt', '-o', 'out.wav'],
      file: filesOf(run),
      onOutput: toLines(run.onLine ?? (() => {})),
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
    if (!tripwire.equals(this.#tripwire)) throw new Error('flite overflowed its stack');
  }

  #reset(): void {
    const bytes = new Uint8Array(this.#memory.buffer);
    bytes.fill(0, 0, readOnly.from);
    bytes.set(this.#writable, readOnly.to);
    bytes.fill(0, readOnly.to + this.#writable.length);
  }
}

function filesOf(run: FliteRun): (path: string) => WasiFile | undefined {
  const sound = wavFile(run.onSound ?? (() => {}));
  // flite drops a final one-word sentence ("Are you there? Yes.") if the text does not end with a newline.
  const text = fileOf(Buffer.from(`${run.text}\n`, 'latin1'));
  return (path) => {
    if (path === 'in.txt') return text;
    return path === 'out.wav' ? sound : undefined;
  };
}

/**
 * The file out.wav. An utterance is complete when flite closes the file; before that, the rate in the header may be
 * wrong.
 */
function wavFile(onSound: (samples: Int16Array, sampleRateHz: number) => void): WasiFile {
  const header = new Uint8Array(wavHeaderBytes);
  let size = 0;
  let pending: Uint8Array[] = [];
  return {
    size: () => size,
    read: fileOf(header).read,
    write(at, bytes) {
      const head = bytes.subarray(0, Math.max(0, wavHeaderBytes - at));
      header.set(head, Math.min(at, wavHeaderBytes));
      size = Math.max(size, at + bytes.length);
      if (bytes.length > head.length) pending.push(bytes.slice(head.length));
    },
    close() {
      const [bytes, ...more] = pending;
      pending = [];
      if (bytes === undefined) return;
      const whole = more.length === 0 ? bytes : join(Uint8Array, [bytes, ...more]);
      onSound(new Int16Array(whole.buffer), new DataView(header.buffer).getUint32(24, true));
    },
  };
}

/** Joins printed bytes into lines. */
function toLines(onLine: (line: string) => void): (bytes: Uint8Array) => void {
  let rest = '';
  return (bytes) => {
    const lines = (rest + Buffer.from(bytes).toString('latin1')).split('\n');
    rest = lines.pop()!;
    for (const line of lines) onLine(line.trim());
  };
}
