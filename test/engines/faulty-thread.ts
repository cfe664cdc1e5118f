// A thread of a ThreadPool that does wrong when told to. What happens in any of its kind is counted where tests can see.
import { isMainThread, threadId } from 'node:worker_threads';
import { serveJobs } from '../../src/engines/flite/thread-work.ts';

export interface FaultyTask {
  /** What it does after its pieces; it throws when its job is over. */
  does: 'end' | 'fail' | 'exit' | 'throw' | 'hang' | 'listen' | 'linger';
  pieces?: string[];
  /** How often it does so before it simply ends; for ever if undefined. */
  times?: number;
}

/** Counts of jobs begun, and of turns of a loop that does not end. */
export const counts = { begun: 0, turns: 1 };

/** How long a thread that lingers goes on after an abort. */
export const lingerMs = 100;

if (!isMainThread) {
  serveJobs<Int32Array, FaultyTask, string>((shared) => {
    return ({ does, pieces = [], times = Number.POSITIVE_INFINITY }, turn) => {
      const before = Atomics.add(shared, counts.begun, 1);
      for (const piece of pieces) turn.send([piece.replace('{thread}', String(threadId))], []);
      if (before >= times) return;
      if (does === 'fail') throw new Error('a job failed');
      if (does === 'exit') process.exit(3);
      if (does === 'throw') setImmediate(() => Promise.reject(new Error('a thread threw')));
      while (does === 'hang') Atomics.add(shared, counts.turns, 1);
      while (does === 'linger' && !turn.isCancelled()) Atomics.add(shared, counts.turns, 1);
      if (does === 'linger') Atomics.wait(shared, counts.turns, Atomics.load(shared, counts.turns), lingerMs);
      while (does === 'listen' && !turn.isCancelled()) Atomics.add(shared, counts.turns, 1);
    };
  });
}
