// The metrics of jobs and webhooks: how they ended in this process, and how many chapters it works on. Each outcome is there
// from the beginning with 0, so that the first one is seen as an increase.
import { type WebhookOutcome, webhookOutcomes } from '../store/webhook-rows.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const jobStatuses = ['succeeded', 'failed', 'canceled'];

export function createJobMetrics(metrics: Metrics) {
  const jobs = metrics.counter('sonant_jobs_total', 'Jobs that have ended, by status.');
  const webhooks = metrics.counter('sonant_webhooks_total', 'Messages of webhooks that have ended, by outcome.');
  const countWebhook = (outcome: WebhookOutcome, by: number) => webhooks({ outcome: outcome.replace(' ', '_') }, by);
  for (const status of jobStatuses) jobs({ status }, 0);
  for (const outcome of webhookOutcomes) countWebhook(outcome, 0);
  return {
    onJobEnd: (status: string): void => jobs({ status }),
    onWebhookEnd: (outcome: WebhookOutcome): void => countWebhook(outcome, 1),
    watchJobs: (countChapters: () => number): void =>
      metrics.gauge('sonant_job_chapters', 'Chapters of jobs that are worked on.', () => [[{}, countChapters()]]),
  };
}
