// Starts the process of eSpeak NG's bare library (raw-library.ts), with which benches compare.
import { join } from 'node:path';
import { startProcess } from '../measuring/asked-process.ts';

/** Rejects if the library or koffi is missing. The process does not get the memory settings of the service. */
export async function openRawLibrary() {
  const options = { execArgv: [], env: process.env };
  const { ask, close } = await startProcess(join(import.meta.dirname, 'raw-library.ts'), [], options);
  /** Returns the CPU time in milliseconds that the texts took. */
  const cpuMsOf = (texts: readonly string[]) => ask(texts);
  return { cpuMsOf, close };
}
