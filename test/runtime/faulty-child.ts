// A thread or forked process of the host's tests.
import { serveTasks } from '../../src/runtime/host-child.ts';
import { type FaultyStart, type FaultyTask, perform, start } from './faulty-work.ts';

serveTasks<FaultyStart, FaultyTask, string>(async (given) => {
  await start(given);
  return perform;
});
