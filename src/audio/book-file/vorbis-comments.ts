// Writes what a book says of itself for FLAC and Opus: comments (https://xiph.org/vorbis/doc/v-comment.html, RFC 9639 section
// 8.6, RFC 7845 section 5.2) with CHAPTERxxx marks, numbers little-endian; and a picture (RFC 9639 section 8.8), big-endian:
//     4: length | program | 4: count | 4: length | NAME=value ...
//     4: 3, the front cover | 4: length | content type | 4: 0 | 16: width and others, 0 for unknown | 4: length | bytes
import type { BookCover, BookTags, ChapterMark } from './book.ts';

/** More with `more`, as they are. */
export function vorbisComments(
  program: string,
  tags: BookTags,
  marks: readonly ChapterMark[],
  more: readonly string[] = [],
): Buffer {
  const { title, author, narrator, publisher, date, language } = tags;
  const own = Object.entries({
    TITLE: title,
    ALBUM: title,
    ARTIST: author,
    PERFORMER: narrator,
    ORGANIZATION: publisher,
    DATE: date,
    LANGUAGE: language,
  }).flatMap(([name, value]) => (value ? [`${name}=${value}`] : []));
  const chapters = marks.flatMap(({ title, startSeconds }, i) => {
    const name = `CHAPTER${String(i + 1).padStart(3, '0')}`;
    return [`${name}=${toTime(startSeconds)}`, `${name}NAME=${title}`];
  });
  const comments = [...own, ...chapters, ...more];
  return Buffer.concat([sized(program), littleEndian(comments.length), ...comments.map(sized)]);
}

export function pictureBlock({ contentType, bytes }: BookCover): Buffer {
  const type = Buffer.from(contentType, 'latin1');
  const numbers = Buffer.alloc(24);
  numbers.writeUInt32BE(bytes.length, 20);
  return Buffer.concat([bigEndian(3), bigEndian(type.length), type, numbers, bytes]);
}

const littleEndian = (number: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
};
const bigEndian = (number: number): Buffer => littleEndian(number).swap32();

function sized(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([littleEndian(bytes.length), bytes]);
}

function toTime(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const [hours, minutes, rest] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map((part) =>
    String(Math.floor(part)).padStart(2, '0'),
  );
  return `${hours}:${minutes}:${rest}.${String(ms % 1000).padStart(3, '0')}`;
}
