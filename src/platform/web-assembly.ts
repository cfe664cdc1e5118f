// The part of WebAssembly's interface that Sonant uses. TypeScript declares it only together with a browser's DOM.

/** Compiled code, which threads can share. */
export interface WasmModule {
  readonly compiled?: never;
}

export interface WasmMemory {
  /** The buffer is replaced each time the memory grows. */
  readonly buffer: ArrayBuffer;
}

interface WebAssembly {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  instantiate(module: unknown, imports: object): Promise<unknown>;
  Instance: new (module: WasmModule, imports: object) => { exports: unknown };
  Memory: new (options: { initial: number; maximum: number }) => WasmMemory;
  Module: new (bytes: Uint8Array) => WasmModule;
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssembly }).WebAssembly;
