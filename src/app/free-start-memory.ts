// Returns the memory that only the start needed: V8 keeps the space in which modules were loaded, about 30 MiB, and gives
// it back by itself only under pressure. Runs once, some seconds after the start, since it holds the event loop for a
// moment, and only while no request runs.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const afterMs = 3000;

type CollectGarbage = (options: { type: 'major'; flavor: 'last-resort' }) => void;

export function freeStartMemory(isIdle: () => boolean): void {
  const timer = setTimeout(() => {
    if (!isIdle()) return;
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as CollectGarbage;
    setFlagsFromString('--no-expose-gc');
    collectGarbage({ type: 'major', flavor: 'last-resort' });
  }, afterMs);
  timer.unref();
}
