// Converts messages to the fields of jobs, by their names in JSON, and jobs and their events to messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type CreateJobRequest,
  CreateJobRequestSchema,
  type JobSchema,
  JobStatus,
  WatchJobResponse_Kind,
  type WatchJobResponseSchema,
} from '../../gen/sonant/v1/job_service_pb.ts';
import { type OutputFormat, OutputFormatSchema } from '../../gen/sonant/v1/speech_pb.ts';
import type { Job, JobEvent, JobStatus as Status } from '../jobs/job.ts';
import { speechFieldRows } from '../speech/fields.ts';
import { readFields, toEnumValue } from './speech-fields.ts';

const statuses = {
  queued: JobStatus.QUEUED,
  running: JobStatus.RUNNING,
  succeeded: JobStatus.SUCCEEDED,
  failed: JobStatus.FAILED,
  canceled: JobStatus.CANCELED,
} as const satisfies Readonly<Record<Status, JobStatus>>;

export const statusOf = (status: JobStatus): Status | undefined =>
  (Object.keys(statuses) as Status[]).find((name) => statuses[name] === status);

/** Empty texts and lists are absent, as in every message. */
const orAbsent = (value: string) => value || undefined;

export function toJobFields(message: CreateJobRequest): Readonly<Record<string, unknown>> {
  const { chapters, metadata, chapterGapSeconds, keepHours, webhookUrl, cover, text } = message;
  const speech = readFields(CreateJobRequestSchema, message, speechFieldRows);
  const toChapter = ({ title, voiceId, languageCode, ...chapter }: (typeof chapters)[number]) => ({
    title,
    text: orAbsent(chapter.text),
    ssml: orAbsent(chapter.ssml),
    voice_id: orAbsent(voiceId),
    language_code: languageCode,
  });
  return {
    ...speech,
    text: orAbsent(text),
    chapters: chapters.length > 0 ? chapters.map(toChapter) : undefined,
    chapter_gap_seconds: chapterGapSeconds,
    keep_hours: keepHours,
    webhook_url: orAbsent(webhookUrl),
    metadata,
    cover: cover.length > 0 ? Buffer.from(cover).toString('base64') : undefined,
  };
}

const orUnset = (ms: number | null) => (ms === null ? undefined : timestampFromMs(ms));

export function toJobMessage(job: Job): MessageInitShape<typeof JobSchema> {
  const { progress, error, usage } = job;
  return {
    id: job.id,
    status: statuses[job.status],
    voiceId: job.voiceId,
    outputFormat: toEnumValue<OutputFormat>(OutputFormatSchema, job.format),
    sampleRate: job.sampleRateHz,
    metadata: { ...job.metadata },
    createdAt: timestampFromMs(job.createdAtMs),
    startedAt: orUnset(job.startedAtMs),
    endedAt: orUnset(job.endedAtMs),
    expiresAt: orUnset(job.expiresAtMs),
    progress: {
      chars: progress.chars,
      charsDone: progress.charsDone,
      chaptersDone: progress.chaptersDone,
      seconds: progress.seconds,
      ...(progress.etaSeconds !== undefined && { etaSeconds: progress.etaSeconds }),
    },
    chapters: job.chapters.map(({ title, voiceId, chars, charsDone, startSeconds, endSeconds, audioUrl = '' }) => {
      const span = { start: startSeconds ?? undefined, end: endSeconds ?? undefined };
      return { title, voiceId, chars, charsDone, ...span, audioUrl };
    }),
    audioUrl: job.audioUrl ?? '',
    captions: { ...job.captionUrls },
    error: error && toError(error),
    usage,
    revision: BigInt(job.revision),
  };
}

const toError = ({ reason, text = '', ...where }: NonNullable<Job['error']>) => ({ ...where, error: reason, text });

const kinds = {
  progress: WatchJobResponse_Kind.PROGRESS,
  chapter_done: WatchJobResponse_Kind.CHAPTER_DONE,
  done: WatchJobResponse_Kind.DONE,
  failed: WatchJobResponse_Kind.ERROR,
} as const satisfies Readonly<Record<JobEvent['type'], WatchJobResponse_Kind>>;

export const toWatchResponse = (event: JobEvent): MessageInitShape<typeof WatchJobResponseSchema> => ({
  kind: kinds[event.type],
  revision: BigInt(event.revision),
  ...(event.type === 'chapter_done' && { chapter: event.chapter }),
  job: toJobMessage(event.job),
});
