// A job as JSON, for replies, events and webhooks.
import type { Job } from './job.ts';

/** To the millisecond. */
const roundSeconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;
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
