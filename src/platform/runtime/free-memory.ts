// Frees memory that was needed only to start. V8 would keep it until memory is scarce.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type CollectGarbage = (options: { type: 'major'; flavor: 'last-resort' }) => void;

/** Collects all garbage, which blocks the thread for some time. */
export function freeMemory(): void {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as CollectGarbage;
  setFlagsFromString('--no-expose-gc');
  collectGarbage({ type: 'major', flavor: 'last-resort' });
}
