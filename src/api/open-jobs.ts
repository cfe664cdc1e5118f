// Opens jobs: rows, runner and cleanup. The end of a job is also a webhook message.
import { JobSchema } from '../../gen/sonant/v1/job_service_pb.ts';
import type { UsageLedger, Webhooks } from '../accounts.ts';
import {
  createJobRows,
  type JobRow,
  type JobRowsOptions,
  type JobSettings,
  type JobTools,
  openJobRunner,
  openJobSweep,
  type StoredClips,
} from '../clips.ts';
import { writeMessage } from '../contract.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { isDead, processName } from '../platform/runtime/id.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import { createMetrics, type Metrics } from '../platform/telemetry/prometheus.ts';
import { createJobHandlers, toJob } from './jobs.ts';

export interface OpenJobsOptions extends Pick<JobTools, 'speech' | 'limiter' | 'findCaller' | 'onFault'> {
  stored: {
    store: RowStore;
    clips: Pick<StoredClips, 'index' | 'memory'>;
    room: JobTools['room'];
    ledger: Pick<UsageLedger, 'add'>;
  };
  links: { baseUrl(): string; keepMs: number };
  openSigner?: JobTools['openSigner'];
  /** Maximum number of chapters that this process speaks at the same time. */
  chaptersMax: number;
  /** Webhooks for jobs. Without this option, a job that names a webhook is refused. */
  webhooks?: Webhooks | undefined;
  metrics?: Metrics;
  /** The name under which leases are held. Default: the name of this process. */
  holder?: string;
}

export function openJobs(options: OpenJobsOptions) {
  const { speech, limiter, findCaller, links, onFault } = options;
  const { store, clips: stored, room, ledger } = options.stored;
  const { openSigner, chaptersMax, holder = processName, webhooks, metrics = createMetrics() } = options;
  const { index, memory } = stored;
  const { clips } = memory;
  const countEnded = metrics.counter('sonant_jobs_total', 'Ended jobs, by status.');
  // Counters begin at 0 for every outcome, so that the first event shows as an increase.
  for (const status of ['succeeded', 'failed', 'canceled']) countEnded({ status }, 0);
  const afterEnd = ({ status }: JobRow) => {
    countEnded({ status });
    webhooks?.wake();
  };
  const rows = createJobRows(store, { ...(webhooks && storeMessages(webhooks, links)), afterEnd });
  const { keepMs } = links;
  const tools = { rows, speech, clips, index, room, limiter, findCaller, openSigner, keepMs, holder, onFault };
  const runner = openJobRunner({ ...tools, chaptersMax, isDead });
  metrics.gauge('sonant_job_chapters', 'Chapters of jobs being spoken.', () => [[{}, runner.countWorking()]]);
  const sweep = openJobSweep(tools);
  return {
    handlers: createJobHandlers({
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
    /** Deletes expired jobs now. */
    sweep: sweep.run,
    async close(): Promise<void> {
      await runner.close();
      await sweep.close();
    },
  };
}

async function refuseWebhook(): Promise<never> {
  const details: FieldViolation[] = [
    { field: 'webhook_url', reason: 'unsupported', message: 'is not supported: this process does not send webhooks' },
  ];
  throw new Failure('invalid_request', { details });
}

/** Stores the webhook message in the transaction that ends the job. */
const storeMessages = (webhooks: Webhooks, links: OpenJobsOptions['links']): Pick<JobRowsOptions, 'onEnd'> => ({
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
      data: writeMessage(JobSchema, toJob(job, chapters, links)),
    });
  },
});
