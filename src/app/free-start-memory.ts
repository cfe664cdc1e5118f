// Returns the memory that only the start needed: V8 keeps the space in which modules were loaded, about 30 MiB, and gives
// it back by itself only under pressure. Runs once, some seconds after the start or at a later time when no request runs,
// since it holds the event loop for a moment.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const everyMs = 3000;

type CollectGarbage = (options: { type: 'major'; flavor: 'last-resort' }) => void;

export function freeStartMemory(isIdle: () => boolean): void {
  const timer = setInterval(() => {
    if (!isIdle()) return;
    clearInterval(timer);
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as CollectGarbage;
    setFlagsFromString('--no-expose-gc');
    collectGarbage({ type: 'major', flavor: 'last-resort' });
  }, everyMs);
  timer.unref();
}
