// What happens to a job as Server-Sent Events, each with the revision of the job as its id:
//
//     id: 17
//     event: job.chapter.done
//     data: {"type":"job.chapter.done","chapter":2,"job":{...}}
import type { Failure } from '../../errors.ts';
import type { JobEvent } from '../../jobs/job.ts';
import { toJobJson } from '../../jobs/job-json.ts';
import { toFailureBody } from '../../net/failure-reply.ts';

const eventNames = {
  progress: 'job.progress',
  chapter_done: 'job.chapter.done',
  done: 'job.done',
  failed: 'error',
} as const satisfies Readonly<Record<JobEvent['type'], string>>;

export function toEventText(event: JobEvent): Buffer {
  const type = eventNames[event.type];
  const chapter = event.type === 'chapter_done' ? { chapter: event.chapter } : {};
  const data = JSON.stringify({ type, ...chapter, job: toJobJson(event.job) });
  return Buffer.from(`id: ${event.revision}\nevent: ${type}\ndata: ${data}\n\n`);
}

/** Why the events end before the job does. It has no id: there is nothing to go on with. */
export function toFailureEventText(failure: Failure, requestId: string): Buffer {
  const { error, message, status, request_id } = toFailureBody(failure, requestId);
  const data = JSON.stringify({ type: 'error', error, message, status, retryable: false, request_id });
  return Buffer.from(`event: error\ndata: ${data}\n\n`);
}
