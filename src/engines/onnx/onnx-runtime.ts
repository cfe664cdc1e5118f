// ONNX Runtime, which computes the graphs: the native library if the package onnxruntime-node is installed and has a
// binary for this platform, or else the WebAssembly of onnxruntime-web, which is always installed. A fault in native
// code ends its process, so it runs in processes; WebAssembly runs in threads, which share the compiled module.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type WasmModule, webAssembly } from '../../platform/web-assembly.ts';

/** What a worker needs to open the runtime. */
export type RuntimeStart = { is: 'native'; entry: string } | { is: 'wasm'; entry: string; module: WasmModule };

export interface Values {
  readonly data: Float32Array;
  /** Size of each dimension. */
  readonly dims: readonly number[];
}

/** A loaded graph. It takes the inputs that it needs. */
export interface Session {
  readonly inputNames: readonly string[];
  run(inputs: Readonly<Record<string, Inputs>>): Promise<Readonly<Record<string, Values>>>;
}

export interface Inputs {
  data: Float32Array | BigInt64Array;
  dims: readonly number[];
}

/** The part of the library that is used here; both packages have it. */
interface Library {
  env: { wasm: { numThreads?: number; wasmBinary?: Uint8Array } };
  Tensor: new (type: 'float32' | 'int64', data: Inputs['data'], dims: readonly number[]) => Values;
  InferenceSession: {
    create(model: Uint8Array, options: object): Promise<Session>;
  };
}

export const runtimeMissing = 'onnxruntime-web is not installed; run npm ci';

export interface FoundRuntime {
  is: RuntimeStart['is'];
  entry: string;
}

/** Finds the runtime without loading it; undefined if no package of it is installed. */
export function findRuntime(): FoundRuntime | undefined {
  const native = resolve(() => createRequire(import.meta.url).resolve('onnxruntime-node'));
  if (native && existsSync(bindingOf(native))) return { is: 'native', entry: native };
  const web = resolve(() => fileURLToPath(import.meta.resolve('onnxruntime-web/wasm')));
  return web === undefined ? undefined : { is: 'wasm', entry: web };
}

function resolve(find: () => string): string | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

/** The package's binary for this platform. */
const bindingOf = (entry: string): string =>
  join(dirname(entry), '..', 'bin', 'napi-v6', process.platform, process.arch, 'onnxruntime_binding.node');

/** Compiles the module that the threads share; functions are compiled further when they run. */
export async function compileRuntime(entry: string): Promise<WasmModule> {
  return webAssembly.compile(await readFile(join(dirname(entry), 'ort-wasm-simd-threaded.wasm')));
}

export type OpenGraph = (model: Uint8Array, how?: { threads: number }) => Promise<Session>;

/**
 * Opens the runtime in a worker. A graph uses one thread, because more workers speak faster than more threads.
 * `beforeRun` is called before each run of a graph; if it throws, so does the run.
 */
export async function openRuntime(start: RuntimeStart, beforeRun = async () => {}): Promise<OpenGraph> {
  const library =
    start.is === 'native' ? createRequire(start.entry)(start.entry) : await import(pathToFileURL(start.entry).href);
  if (start.is === 'wasm') useCompiled(library, start.module);
  const options = {
    interOpNumThreads: 1,
    logSeverityLevel: 3,
    // A plan of memory for each length of window takes more memory and saves no time.
    enableMemPattern: false,
    // Each of the many graphs would keep the memory of its largest run.
    enableCpuMemArena: false,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  };
  return async (model, { threads } = { threads: 1 }) => {
    const asked = { ...options, intraOpNumThreads: threads };
    const session = await (library as Library).InferenceSession.create(model, asked);
    const { Tensor } = library as Library;
    const toTensor = ({ data, dims }: Inputs) =>
      new Tensor(data instanceof Float32Array ? 'float32' : 'int64', data, dims);
    const { inputNames } = session;
    return {
      inputNames,
      async run(inputs) {
        await beforeRun();
        return session.run(Object.fromEntries(inputNames.map((name) => [name, toTensor(inputs[name]!)])));
      },
    };
  };
}

/** The library compiles its own module; here, it gets the module that is compiled already. */
function useCompiled({ env }: Library, module: WasmModule): void {
  env.wasm.numThreads = 1;
  env.wasm.wasmBinary = new Uint8Array(1);
  const { instantiate } = webAssembly;
  webAssembly.instantiate = async (_, imports) => {
    webAssembly.instantiate = instantiate;
    return { module, instance: await instantiate(module, imports) };
  };
}
