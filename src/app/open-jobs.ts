// Opens jobs: their rows, who works on them in this process, and who forgets them.

import type { UsageLedger } from '../access/usage-ledger.ts';
import { createJobOperations, type JobOperations } from '../api/jobs.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { toJobJson } from '../jobs/job-json.ts';
import type { JobSettings } from '../jobs/job-request.ts';
import { openJobRunner } from '../jobs/job-runner.ts';
import { openJobSweep } from '../jobs/job-sweep.ts';
import type { JobTools } from '../jobs/job-tools.ts';
import { toJob } from '../jobs/job-view.ts';
import { isDead, processName } from '../runtime/process-name.ts';
import { createJobRows, type JobRow, type JobRowsOptions } from '../store/job-rows.ts';
import type { RowStore } from '../store/row-store.ts';
import type { Webhooks } from '../webhooks/webhook.ts';
import type { StoredClips } from './stored-clips.ts';

export interface OpenJobsOptions extends Pick<JobTools, 'room' | 'limiter' | 'findCaller' | 'onFault'> {
  core: { speech: JobTools['speech'] };
  store: RowStore;
  clips: Pick<StoredClips, 'index' | 'memory'>;
  ledger: Pick<UsageLedger, 'add'>;
  links: { baseUrl(): string; keepMs: number };
  /** How many chapters are worked on at once. */
  chaptersMax: number;
  /** Where callers are told of the end of a job; without it, a job that names a webhook is refused. */
  webhooks?: Webhooks | undefined;
  /** Called when a job has ended. */
  onEnd?(status: string): void;
  /** The name under which leases are held, if not that of this process. */
  holder?: string;
}

export interface OpenedJobs {
  operations: JobOperations;
  /** How many chapters are worked on. */
  countChapters(): number;
  /** Forgets now what is to be forgotten. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export function openJobs(options: OpenJobsOptions): OpenedJobs {
  const { core, store, clips: stored, room, ledger, limiter, findCaller, links, onFault } = options;
  const { chaptersMax, holder = processName, webhooks, onEnd } = options;
  const { index, memory } = stored;
  const { clips } = memory;
  const afterEnd = ({ status }: JobRow) => {
    onEnd?.(status);
    webhooks?.wake();
  };
  const rows = createJobRows(store, { ...(webhooks && tellEnds(webhooks, links)), afterEnd });
  const { speech } = core;
  const { keepMs } = links;
  const tools = { rows, speech, clips, index, room, limiter, findCaller, keepMs, holder, onFault };
  const runner = openJobRunner({ ...tools, chaptersMax, isDead });
  const sweep = openJobSweep(tools);
  return {
    operations: createJobOperations({
      rows,
      speech,
      clips,
      index,
      room,
      keepMs,
      runner,
      links,
      noteUsage: (usage) => ledger.add(usage),
      checkWebhook: webhooks ? webhooks.check : refuseWebhook,
    }),
    countChapters: runner.countWorking,
    sweep: sweep.run,
    async close() {
      await runner.close();
      await sweep.close();
    },
  };
}

async function refuseWebhook(): Promise<never> {
  const details: FieldViolation[] = [
    { field: 'webhook_url', reason: 'unsupported', message: 'webhooks are not sent here' },
  ];
  throw new Failure('invalid_request', { details });
}

/** The message is written with the end of the job, or neither is. */
const tellEnds = (webhooks: Webhooks, links: OpenJobsOptions['links']): Pick<JobRowsOptions, 'onEnd'> => ({
  async onEnd(rows, job, chapters) {
    const { webhookUrl: url }: JobSettings = JSON.parse(job.settings);
    if (url === undefined) return;
    const { jobKey, keyId, accountId, endedRevision, endedAtMs } = job;
    await webhooks.add(rows, {
      messageId: `msg_${jobKey}_${endedRevision}`,
      keyId,
      accountId,
      url,
      atMs: endedAtMs!,
      event: `job.${job.status as 'succeeded' | 'failed' | 'canceled'}`,
      data: toJobJson(toJob(job, chapters, links)),
    });
  },
});
