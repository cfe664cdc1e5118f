// A job: a long text that is spoken in the background, chapter by chapter, into one file and a file for each chapter.
import type { FormatName } from '../audio/formats.ts';
import type { Reason } from '../errors.ts';
import type { CaptionKind } from '../speech/fields.ts';

export const jobStatuses = ['queued', 'running', 'succeeded', 'failed', 'canceled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export interface Job {
  /** Unique among the jobs of its owner. */
  id: string;
  status: JobStatus;
  voiceId: string;
  format: FormatName;
  sampleRateHz: number;
  metadata: Readonly<Record<string, string>>;
  createdAtMs: number;
  /** Null until then. */
  startedAtMs: number | null;
  endedAtMs: number | null;
  /** When it is forgotten, with what was made of it; null while it has not ended. */
  expiresAtMs: number | null;
  progress: JobProgress;
  chapters: readonly JobChapter[];
  /** The whole; undefined until it has succeeded. */
  audioUrl: string | undefined;
  /** Of the whole, of the kinds that were asked for. */
  captionUrls: Partial<Record<CaptionKind, string>>;
  /** Why it has failed. */
  error: JobFault | undefined;
  usage: { characters: number; audioSeconds: number };
  /** Rises with every change. */
  revision: number;
}

export interface JobProgress {
  /** Code points of the text that are said, and those that have been spoken. */
  chars: number;
  charsDone: number;
  chaptersDone: number;
  /** Of sound so far. */
  seconds: number;
  /** Until its end, at the rate so far; undefined while nothing is known. */
  etaSeconds: number | undefined;
}

export interface JobChapter {
  title: string;
  voiceId: string;
  chars: number;
  charsDone: number;
  /** Where it is in the whole; null until the chapters before it are done. */
  startSeconds: number | null;
  endSeconds: number | null;
  /** Undefined until it is done. */
  audioUrl: string | undefined;
}

export interface JobFault {
  reason: Reason;
  message: string;
  /** Of the sentence that could not be spoken: the index of its chapter, where it begins there in code points, and what it is. */
  chapter: number | undefined;
  offset: number | undefined;
  text: string | undefined;
}

/** What is told of a job while it runs. `revision` identifies an event, and is that of the job then. */
export type JobEvent =
  | { type: 'progress'; revision: number; job: Job }
  | { type: 'chapter_done'; revision: number; job: Job; chapter: number }
  | { type: 'done'; revision: number; job: Job }
  | { type: 'failed'; revision: number; job: Job };
