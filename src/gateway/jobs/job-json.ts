// Renders a job, and what happens to it, as JSON. An event is, with the revision of the job as its id:
//
//     id: 17
//     event: job.chapter.done
//     data: {"type":"job.chapter.done","chapter":2,"job":{...}}
import type { Job, JobEvent } from '../../jobs/job.ts';
import { roundSeconds } from '../speech/headers.ts';

const toTime = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const orNull = (seconds: number | null | undefined) =>
  seconds === null || seconds === undefined ? null : roundSeconds(seconds);

export const toJobJson = (job: Job) => ({
  id: job.id,
  status: job.status,
  voice_id: job.voiceId,
  output_format: job.format,
  sample_rate: job.sampleRateHz,
  created_at: toTime(job.createdAtMs),
  started_at: toTime(job.startedAtMs),
  ended_at: toTime(job.endedAtMs),
  expires_at: toTime(job.expiresAtMs),
  metadata: job.metadata,
  progress: {
    chars: job.progress.chars,
    chars_done: job.progress.charsDone,
    chapters_done: job.progress.chaptersDone,
    seconds: roundSeconds(job.progress.seconds),
    eta_seconds: orNull(job.progress.etaSeconds),
  },
  chapters: job.chapters.map((chapter) => ({
    title: chapter.title,
    voice_id: chapter.voiceId,
    chars: chapter.chars,
    chars_done: chapter.charsDone,
    start: orNull(chapter.startSeconds),
    end: orNull(chapter.endSeconds),
    audio_url: chapter.audioUrl ?? null,
  })),
  audio_url: job.audioUrl ?? null,
  captions: job.captionUrls,
  error: job.error ? toErrorJson(job.error) : null,
  usage: { characters: job.usage.characters, audio_seconds: roundSeconds(job.usage.audioSeconds) },
});

const toErrorJson = ({ reason, message, chapter, offset, text }: NonNullable<Job['error']>) => ({
  error: reason,
  message,
  chapter: chapter ?? null,
  offset: offset ?? null,
  text: text ?? null,
});

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
