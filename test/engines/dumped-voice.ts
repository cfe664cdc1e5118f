// Creates a voice file as an operator would: flite exports its own voice slt.
import {
  compileWasm,
  fileOf,
  ProgramExit,
  WasiHost,
  type WasmMemory,
  webAssembly,
} from '../../src/engines/flite/wasi.ts';

export async function dumpVoice(): Promise<Buffer> {
  const host = new WasiHost();
  const { exports } = new webAssembly.Instance(await compileWasm(), host.imports);
  const { memory, _start } = exports as { memory: WasmMemory; _start(): void };
  const written: Buffer[] = [];
  const file = {
    ...fileOf(new Uint8Array()),
    write: (_at: number, bytes: Uint8Array) => void written.push(Buffer.from(bytes)),
  };
  const args = ['flite', '-voice', 'slt', '-voicedump', 'slt.flitevox'];
  host.enter(memory, { args, file: () => file, onOutput() {}, onError() {} });
  try {
    _start();
  } catch (error) {
    if (!(error instanceof ProgramExit)) throw error;
  }
  return Buffer.concat(written);
}
