// What a person sees of a book while it is spoken, and why it could not be.
import { createProgressBar } from './progress-bar.ts';
import { createTimeLeft } from './time-left.ts';

/** How far a job is. */
export interface BookProgress {
  chars: number;
  charsDone: number;
  chaptersDone: number;
  chapterCount: number;
}

export function createBookProgress() {
  const bar = createProgressBar(process.stderr);
  const left = createTimeLeft();
  return {
    show({ chars, charsDone, chaptersDone, chapterCount }: BookProgress): void {
      const chapter = Math.min(chaptersDone + 1, chapterCount);
      bar.show(charsDone / chars, `chapter ${chapter} of ${chapterCount}${left(charsDone, chars)}`);
    },
    clear: bar.clear,
  };
}

export interface BookFaultReport {
  message: string;
  /** Of the chapter that could not be spoken, and the sentence in it. */
  title: string | undefined;
  text: string | undefined;
}

/** `fault` is undefined for a job that was ended. */
export function explainFault(fault: BookFaultReport | undefined): string {
  const where = fault?.title === undefined ? '' : ` in "${fault.title}"`;
  const text = fault?.text === undefined ? '' : `, at: ${fault.text}`;
  return `the book could not be spoken${where}: ${fault?.message ?? 'it was ended'}${text}\n  The same command tries again what is missing`;
}
