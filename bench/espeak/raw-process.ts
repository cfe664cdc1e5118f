// The process of eSpeak NG's bare library (raw-library.ts), for the benches that measure against it.
import { join } from 'node:path';
import { startProcess } from '../measuring/asked-process.ts';

/** Rejects where the library or koffi is missing. As any program runs: without the settings of a service. */
export async function openRawLibrary() {
  const options = { execArgv: [], env: process.env };
  const { ask, close } = await startProcess(join(import.meta.dirname, 'raw-library.ts'), [], options);
  /** The CPU that the texts took. */
  const cpuMsOf = (texts: readonly string[]) => ask(texts);
  return { cpuMsOf, close };
}
