// The process of eSpeak NG's bare library (raw-library.ts), and the CPU that the threads of other processes have used.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProcess } from '../measuring/asked-process.ts';
import type { RawWork } from './raw-library.ts';

/** Rejects where the library or koffi is missing. As any program runs: without the settings of a service. */
export async function openRawLibrary() {
  const options = { execArgv: [], env: process.env };
  const { ask, close } = await startProcess(join(import.meta.dirname, 'raw-library.ts'), [], options);
  /** The CPU that the texts took. */
  const cpuMsOf = (texts: readonly string[]) => ask({ texts, rounds: 1 } satisfies RawWork);
  return { cpuMsOf, close };
}

/** Of each thread, its time on a processor in nanoseconds; the ticks of `stat` are too coarse. */
export const threadsCpuMs = (pids: readonly (number | string)[]): number =>
  pids.reduce<number>((sum, pid) => {
    const ns = tasksOf(pid).map((task) => Number(readFileSync(`${task}/schedstat`, 'latin1').split(' ')[0]));
    return sum + ns.reduce((total, each) => total + each, 0) / 1e6;
  }, 0);

export const childrenOf = (pid: number): string[] =>
  tasksOf(pid)
    .flatMap((task) => readFileSync(`${task}/children`, 'latin1').trim().split(/\s+/))
    .filter((child) => child !== '');

const tasksOf = (pid: number | string): string[] =>
  readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`);
