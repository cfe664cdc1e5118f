// Runs as a thread or forked process in the tests of the host.
import { serveTasks } from '../../../src/platform/runtime/host-child.ts';
import { type FaultyStart, type FaultyTask, perform, start } from './faulty-work.ts';

serveTasks<FaultyStart, FaultyTask, string>(async (given) => {
  await start(given);
  return perform;
});
