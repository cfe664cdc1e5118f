// Opens jobs: their rows, who works on them in this process, and who forgets them.
import { openJobRunner } from '../jobs/job-runner.ts';
import { openJobSweep } from '../jobs/job-sweep.ts';
import type { JobTools } from '../jobs/job-tools.ts';
import type { UsageLedger } from '../limits/usage-ledger.ts';
import { createJobOperations, type JobOperations } from '../operations/jobs.ts';
import { isDead, processName } from '../operations/process-name.ts';
import { createJobRows } from '../store/job-rows.ts';
import type { RowStore } from '../store/row-store.ts';
import type { StoredClips } from './stored-clips.ts';

export interface OpenJobsOptions extends Pick<JobTools, 'room' | 'limiter' | 'findCaller' | 'onFault'> {
  core: { speech: JobTools['speech'] };
  store: RowStore;
  clips: Pick<StoredClips, 'index' | 'memory'>;
  ledger: Pick<UsageLedger, 'add'>;
  links: { baseUrl(): string; keepMs: number };
  /** How many chapters are worked on at once. */
  chaptersMax: number;
  /** The name under which leases are held, if not that of this process. */
  holder?: string;
}

export interface OpenedJobs {
  operations: JobOperations;
  /** Forgets now what is to be forgotten. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export function openJobs(options: OpenJobsOptions): OpenedJobs {
  const { core, store, clips: stored, room, ledger, limiter, findCaller, links, onFault } = options;
  const { chaptersMax, holder = processName } = options;
  const { index, memory } = stored;
  const { clips } = memory;
  const rows = createJobRows(store);
  const { speech } = core;
  const { keepMs } = links;
  const tools = { rows, speech, clips, index, room, limiter, findCaller, keepMs, holder, onFault };
  const runner = openJobRunner({ ...tools, chaptersMax, isDead });
  const sweep = openJobSweep(tools);
  return {
    operations: createJobOperations({
      ...{ rows, speech, clips, index, room, keepMs, runner, links },
      noteUsage: (usage) => ledger.add(usage),
    }),
    sweep: sweep.run,
    async close() {
      await runner.close();
      await sweep.close();
    },
  };
}
