// Defines the tasks of the workers in the tests of the host, and how they misbehave on demand.
import { writeFileSync } from 'node:fs';
import { isMainThread, threadId } from 'node:worker_threads';
import type { TaskControl } from '../../../src/platform/runtime/host-child.ts';

export interface FaultyStart {
  /** How a worker misbehaves instead of starting or, for 'exit-later', with its first task. */
  does?: 'exit' | 'hang' | 'throw' | 'exit-later';
}

export interface FaultyTask {
  /** The behaviour of a worker after its pieces. */
  does: 'end' | 'fail' | 'exit' | 'throw' | 'hang' | 'listen' | 'linger' | 'flood' | 'wear';
  /** "{worker}" stands for the id of the thread or process. */
  pieces?: string[];
  /** A file that a lingering worker writes after it has replied. */
  repliedFile?: string;
}

/** How long a lingering worker continues after a cancel. */
export const lingerMs = 100;
/** Pieces of a flood, each of `floodChars`. */
export const floodPieces = 600;
export const floodChars = 60_000;

const nothing = new Int32Array(new SharedArrayBuffer(4));
const block = (ms: number): unknown => Atomics.wait(nothing, 0, 0, ms);
/** A process must read messages during the pause; a thread checks shared memory instead. */
const pause = (ms: number): unknown =>
  isMainThread ? new Promise<void>((resolve) => setTimeout(resolve, ms)) : block(ms);
const worker = String(isMainThread ? process.pid : threadId);

let exitsLater = false;

export async function start({ does }: FaultyStart): Promise<void> {
  exitsLater = does === 'exit-later';
  if (does === 'exit') process.exit(3);
  if (does === 'throw') throw new Error('the data is damaged');
  while (does === 'hang') block(1_000);
}

export async function perform(task: FaultyTask, control: TaskControl<string>): Promise<void> {
  const { does, pieces = [], repliedFile } = task;
  if (exitsLater) process.exit(3);
  for (const piece of pieces) control.send([piece.replace('{worker}', worker)]);
  if (does === 'fail') throw new Error('the task failed');
  if (does === 'throw') setImmediate(() => Promise.reject(new Error('the worker threw')));
  if (does === 'exit') {
    // Waits until the pieces have been written.
    await pause(50);
    process.exit(3);
  }
  while (does === 'hang') block(1_000);
  if (does === 'listen' || does === 'linger') while (!control.isCancelled()) await pause(2);
  if (does === 'linger') block(lingerMs);
  if (repliedFile) setImmediate(() => writeFileSync(repliedFile, ''));
  for (let n = 0; does === 'flood' && n < floodPieces; n++) control.send(['.'.repeat(floodChars)]);
}
