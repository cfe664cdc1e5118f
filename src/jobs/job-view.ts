// A job as its owner sees it, from its rows.
import { bookTimeline, encodedRateOf } from '../audio/book-file/book-file.ts';
import { audioFormats, type FormatName } from '../audio/formats.ts';
import type { ChapterRow, JobRow } from '../store/job-rows.ts';
import type { Job, JobChapter, JobFault, JobStatus } from './job.ts';
import { type JobSettings, toPartRequest } from './job-request.ts';

/** Where stored files are served. */
export interface FileLinks {
  baseUrl(): string;
}

export function toJob(row: JobRow, chapters: readonly ChapterRow[], { baseUrl }: FileLinks): Job {
  const settings: JobSettings = JSON.parse(row.settings);
  const { format, sampleRateHz, voiceId, captions } = toPartRequest(settings.speech, {}, 'a');
  const urlOf = (audioId: string, extension: string) => `${baseUrl()}/audio/${audioId}.${extension}`;
  const soundUrlOf = (audioId: string | null) =>
    audioId === null ? undefined : urlOf(audioId, audioFormats[format].extension);
  const spans = spansOf(chapters, { format, sampleRateHz, gapSeconds: settings.gapSeconds });
  const { audioId } = row;
  return {
    id: row.jobId,
    status: row.status as JobStatus,
    voiceId,
    format,
    sampleRateHz,
    metadata: settings.metadata,
    createdAtMs: row.createdAtMs,
    startedAtMs: row.startedAtMs,
    endedAtMs: row.endedAtMs,
    expiresAtMs: row.expiresAtMs,
    progress: {
      chars: row.chars,
      charsDone: Math.min(row.charsDone, row.chars),
      chaptersDone: row.chaptersDone,
      seconds: row.seconds,
      etaSeconds: etaOf(row),
    },
    chapters: chapters.map(
      (chapter, i): JobChapter => ({
        title: chapter.title,
        voiceId: chapter.voiceId,
        chars: chapter.chars,
        charsDone: Math.min(chapter.charsDone, chapter.chars),
        startSeconds: spans[i]?.start ?? null,
        endSeconds: spans[i]?.end ?? null,
        audioUrl: soundUrlOf(chapter.audioId),
      }),
    ),
    audioUrl: soundUrlOf(audioId),
    captionUrls: audioId === null ? {} : Object.fromEntries(captions.map((kind) => [kind, urlOf(audioId, kind)])),
    error: row.error === null ? undefined : (JSON.parse(row.error) as JobFault),
    usage: { characters: Math.min(row.charsDone, row.chars), audioSeconds: row.seconds },
    revision: row.revision,
  };
}

/** Of the chapters up to the first that is not done. */
function spansOf(
  chapters: readonly ChapterRow[],
  { format, sampleRateHz, gapSeconds }: { format: FormatName; sampleRateHz: number; gapSeconds: number },
): { start: number; end: number }[] {
  const missing = chapters.findIndex(({ status }) => status !== 'done');
  const done = missing < 0 ? chapters : chapters.slice(0, missing);
  const rateHz = encodedRateOf(format, sampleRateHz);
  const gapSampleCount = Math.round(gapSeconds * rateHz);
  const lengths = done.map(({ sampleCount }) => ({ sampleCount, gapSampleCount }));
  return bookTimeline(format, sampleRateHz, lengths).chapters.map(({ startSample, endSample }) => ({
    start: startSample / rateHz,
    end: endSample / rateHz,
  }));
}

function etaOf({ status, chars, charsDone, busyMs }: JobRow): number | undefined {
  if (status !== 'running' || charsDone === 0) return undefined;
  return Math.max(0, Math.round(((chars - charsDone) * busyMs) / charsDone / 1000));
}
