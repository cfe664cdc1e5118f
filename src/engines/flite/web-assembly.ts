// The few parts of the WebAssembly interface that flite needs. Node has it, but TypeScript knows it only together with a
// browser's DOM, which this program does not use.

/** Compiled code; threads share it. */
export interface WasmModule {
  readonly compiled?: never;
}

export interface WasmMemory {
  /** A new one each time the memory has grown. */
  readonly buffer: ArrayBuffer;
}

interface WebAssembly {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  Instance: new (module: WasmModule, imports: object) => { exports: Record<string, unknown> };
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssembly }).WebAssembly;
