// Forgets jobs when their time is over, with what was made for them; before that, the segments that those which have failed or
// were canceled have left: bare samples, which no quota counts.
import type { JobTools } from './job-tools.ts';
import { jobSweepMs, leftSegmentsMs } from './limits.ts';
import { removeJob, removeLeftSegments } from './removal.ts';

/** Jobs that are looked at in one round. */
const batch = 20;

export type JobSweep = ReturnType<typeof openJobSweep>;

export function openJobSweep(tools: Pick<JobTools, 'rows' | 'clips' | 'index' | 'room' | 'onFault'>) {
  const { rows, onFault } = tools;
  let isClosed = false;
  const sweepAll = async <One>(list: () => Promise<One[]>, remove: (one: One) => Promise<void>) => {
    for (;;) {
      const found = isClosed ? [] : await list();
      for (const one of found) await remove(one);
      if (found.length < batch) return;
    }
  };
  const sweep = async () => {
    await sweepAll(
      () => rows.listExpired(Date.now(), batch),
      (job) => removeJob(tools, job),
    );
    const endedMs = Date.now() - leftSegmentsMs;
    await sweepAll(
      () => rows.listLeavingSegments(endedMs, batch),
      (jobKey) => removeLeftSegments(tools, jobKey, endedMs),
    );
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
