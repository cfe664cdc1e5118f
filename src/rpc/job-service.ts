// sonant.v1.JobService: converts messages to calls of the job operations, and their results to messages.
import type { ServiceImpl } from '@connectrpc/connect';
import type { JobService } from '../../gen/sonant/v1/job_service_pb.ts';
import { type JobOperations, parseJobId } from '../api/jobs.ts';
import { parsePage } from '../api/page.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { parseJobRequest } from '../jobs/job-request.ts';
import { callOf } from './calls.ts';
import { statusOf, toJobFields, toJobMessage, toWatchResponse } from './job-messages.ts';
import { requireText } from './required.ts';

export function createJobService(jobs: JobOperations): ServiceImpl<typeof JobService> {
  return {
    async createJob(message, context) {
      const call = callOf(context);
      const id = message.jobId === '' ? undefined : parseJobId(message.jobId, 'job_id');
      const { job } = await jobs.createJob(call, await parseJobRequest(toJobFields(message)), id);
      return { job: toJobMessage(job) };
    },
    async getJob({ jobId }, context) {
      return { job: toJobMessage(await jobs.getJob(callOf(context), required(jobId))) };
    },
    async listJobs({ limit, cursor, status }, context) {
      const violations: FieldViolation[] = [];
      const wanted = statusOf(status);
      const page = parsePage({ limit, cursor }, ['jobs', wanted ?? ''], violations);
      if (wanted === undefined && status !== 0)
        violations.push({ field: 'status', reason: 'enum', message: 'must be a status of jobs' });
      if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
      const { items, nextCursor } = await jobs.listJobs(callOf(context), { status: wanted }, page);
      return { jobs: items.map(toJobMessage), nextCursor };
    },
    async *watchJob({ jobId, afterRevision }, context) {
      const events = jobs.watchJob(callOf(context), required(jobId), Number(afterRevision));
      for await (const event of events) yield toWatchResponse(event);
    },
    async cancelJob({ jobId }, context) {
      return { job: toJobMessage(await jobs.cancelJob(callOf(context), required(jobId))) };
    },
    async retryJob({ jobId }, context) {
      return { job: toJobMessage(await jobs.retryJob(callOf(context), required(jobId))) };
    },
    async deleteJob({ jobId }, context) {
      await jobs.deleteJob(callOf(context), required(jobId));
      return {};
    },
  };
}

const required = (jobId: string) => requireText('job_id', jobId, 'name the job');
