// What the writer of a format is given to write a book.
import type { BookChapter, BookTags, ChapterMark } from './book.ts';
import type { BookPlan } from './timeline.ts';

export interface BookPart {
  /** Of the response; the encoder takes its samples at `rateHz`. */
  sampleRateHz: number;
  rateHz: number;
  chapters: readonly BookChapter[];
  plan: BookPlan;
  marks: readonly ChapterMark[];
  tags: BookTags;
}
