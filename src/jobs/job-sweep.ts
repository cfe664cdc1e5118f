// Forgets jobs when their time is over, with what was made for them, and the jobs of voices that may not be heard any more.
import type { JobTools } from './job-tools.ts';
import { jobSweepMs } from './limits.ts';
import { removeJob } from './removal.ts';

/** Jobs that are forgotten in one round. */
const batch = 20;

export type JobSweep = ReturnType<typeof openJobSweep>;

export function openJobSweep(tools: Pick<JobTools, 'rows' | 'clips' | 'index' | 'room' | 'onFault'>) {
  const { rows, onFault } = tools;
  let isClosed = false;
  const sweep = async () => {
    for (;;) {
      const expired = isClosed ? [] : await rows.listExpired(Date.now(), batch);
      for (const job of expired) await removeJob(tools, job);
      if (expired.length < batch) return;
    }
  };
  let running = Promise.resolve();
  const run = (): Promise<void> => {
    running = running.then(sweep).catch(onFault);
    return running;
  };
  const timer = setInterval(run, jobSweepMs).unref();
  return {
    run,
    async close(): Promise<void> {
      isClosed = true;
      clearInterval(timer);
      await running;
    },
  };
}
