// One file of a whole book with chapter marks, joined from the finished files of its chapters: sound is neither decoded nor
// encoded again, except the silence between chapters and FLAC blocks too short to stand alone. Chapters are read one after
// the other, in pieces, so memory does not grow with the book.
import type { FormatName } from '../formats.ts';
import { type BookChapter, type BookTags, coverBytesMax } from './book.ts';
import type { BookPart } from './book-part.ts';
import { writeFlacBook } from './flac-book.ts';
import { writeMp3Book } from './mp3-book.ts';
import { writeOpusBook } from './opus-book.ts';
import { chapterMarks, encodedRateOf, planBook } from './timeline.ts';
import { writePlainBook, writeWavBook } from './wav-book.ts';

const writers: Readonly<Record<FormatName, (part: BookPart) => AsyncGenerator<Uint8Array>>> = Object.freeze({
  wav: writeWavBook,
  pcm: (part) => writePlainBook('pcm', part),
  mp3: writeMp3Book,
  opus: writeOpusBook,
  flac: writeFlacBook,
  ulaw: (part) => writePlainBook('ulaw', part),
  alaw: (part) => writePlainBook('alaw', part),
});

/** Fails where the file of a chapter is not what its encoder writes for so many samples. */
export async function* writeBookFile(
  format: FormatName,
  sampleRateHz: number,
  chapters: readonly BookChapter[],
  tags: BookTags,
): AsyncGenerator<Uint8Array> {
  if ((tags.cover?.bytes.length ?? 0) > coverBytesMax) throw new Error('the cover of a book is too large');
  const rateHz = encodedRateOf(format, sampleRateHz);
  const plan = planBook(format, sampleRateHz, chapters);
  const marks = chapterMarks(chapters, plan, rateHz);
  yield* writers[format]({ sampleRateHz, rateHz, chapters, plan, marks, tags });
}
