// Writes ID3v2.3 tags (id3.org) with chapters (ID3v2 Chapter Frame Addendum 1.0), and Vorbis comments. More players
// read ID3v2.3 than ID3v2.4. ID3 is big-endian:
//     "ID3" | 3, 0, 0 | 4 bytes of 7 bits: size | frames: 4: name | 4: size | 2: 0 | body
//     TIT2 and other texts: 1: coding, 1 for UTF-16 | FF FE | text
//     APIC: 0 | content type, 0 | 3, the front cover | 0 | bytes
//     CHAP: id, 0 | 4: start, ms | 4: end, ms | 8: FF | TIT2
//     CTOC: id, 0 | 2: root, 1: in order | 1: count | the id of each chapter or of another table, 0
// A table has at most 255 entries, so a longer table of contents is split into several tables.
import { languageOf } from '../../platform/language-code.ts';
import { id3Frame, id3Of, id3OriginFrames, number, originComments, vorbisBlock } from '../origin.ts';
import type { BookCover, BookTags, ChapterMark } from './audio-book.ts';

const entriesMax = 250;
const rootFlag = 2;
const orderedFlag = 1;

/** ISO 639-2 codes of the languages most often read aloud. ID3 requires these codes. */
const threeLetters: Readonly<Record<string, string>> = Object.freeze(
  Object.fromEntries(
    `ar:ara bg:bul bn:ben ca:cat cs:ces cy:cym da:dan de:deu el:ell en:eng es:spa et:est eu:eus fa:fas fi:fin fr:fra ga:gle
    gl:glg gu:guj he:heb hi:hin hr:hrv hu:hun hy:hye id:ind is:isl it:ita ja:jpn ka:kat kk:kaz kn:kan ko:kor la:lat lt:lit
    lv:lav mk:mkd ml:mal mr:mar ms:msa nb:nob ne:nep nl:nld nn:nno no:nor pa:pan pl:pol pt:por ro:ron ru:rus sk:slk sl:slv
    sq:sqi sr:srp sv:swe sw:swa ta:tam te:tel th:tha tr:tur uk:ukr ur:urd vi:vie zh:zho`
      .split(/\s+/)
      .map((pair) => pair.split(':') as [string, string]),
  ),
);

export function id3Tag(tags: BookTags, marks: readonly ChapterMark[]): Buffer {
  const { title, author, narrator, publisher, date, language, cover, origin } = tags;
  const spoken = language === undefined ? '' : languageOf(language);
  const frames = [
    ...textFrame('TIT2', title),
    ...textFrame('TALB', title),
    ...textFrame('TPE1', author),
    ...textFrame('TCOM', narrator),
    ...textFrame('TPUB', publisher),
    ...textFrame('TYER', /^\d{4}/.exec(date ?? '')?.[0]),
    ...textFrame('TLAN', spoken.length === 3 ? spoken : threeLetters[spoken]),
  ];
  if (cover) {
    const head = Buffer.from(`\0${cover.contentType}\0\x03\0`, 'latin1');
    frames.push(frame('APIC', [head, cover.bytes]));
  }
  if (origin) frames.push(...id3OriginFrames(origin, 3));
  if (marks.length > 0) frames.push(...tablesOf(marks.length), ...marks.map(chapterFrame));
  return id3Of(3, frames);
}

const frame = (name: string, parts: readonly Uint8Array[]): Buffer => id3Frame(3, name, parts);

const textFrame = (name: string, text: string | undefined): Buffer[] =>
  text ? [frame(name, [Buffer.from('\x01\xff\xfe', 'latin1'), Buffer.from(text.replaceAll('\0', ''), 'utf16le')])] : [];

const idOf = (index: number): string => `chp${index}\0`;

function chapterFrame({ title, startSeconds, endSeconds }: ChapterMark, index: number): Buffer {
  const span = Buffer.alloc(16, 0xff);
  span.writeUInt32BE(Math.round(startSeconds * 1000), 0);
  span.writeUInt32BE(Math.round(endSeconds * 1000), 4);
  return frame('CHAP', [Buffer.from(idOf(index), 'latin1'), span, ...textFrame('TIT2', title)]);
}

/** Returns the tables of contents, the root first. */
function tablesOf(count: number): Buffer[] {
  const ids = Array.from({ length: count }, (_, i) => idOf(i));
  if (count <= entriesMax) return [table('toc\0', ids, rootFlag)];
  const groups = Array.from({ length: Math.ceil(count / entriesMax) }, (_, i) =>
    ids.slice(i * entriesMax, (i + 1) * entriesMax),
  );
  const names = groups.map((_, i) => `toc${i}\0`);
  return [table('toc\0', names, rootFlag), ...groups.map((group, i) => table(names[i]!, group))];
}

const table = (id: string, entries: readonly string[], flag = 0): Buffer =>
  frame('CTOC', [
    Buffer.from(id, 'latin1'),
    Buffer.of(flag | orderedFlag, entries.length),
    Buffer.from(entries.join(''), 'latin1'),
  ]);

/** Returns Vorbis comments with the tags and chapters. Adds the entries of `more` unchanged. */
export function vorbisComments(
  program: string,
  tags: BookTags,
  marks: readonly ChapterMark[],
  more: readonly string[] = [],
): Buffer {
  const { title, author, narrator, publisher, date, language, origin } = tags;
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
  return vorbisBlock(program, [...own, ...(origin ? originComments(origin) : []), ...chapters, ...more]);
}

export function pictureBlock({ contentType, bytes }: BookCover): Buffer {
  const type = Buffer.from(contentType, 'latin1');
  const numbers = Buffer.alloc(24);
  numbers.writeUInt32BE(bytes.length, 20);
  return Buffer.concat([bigEndian(3), bigEndian(type.length), type, numbers, bytes]);
}

const bigEndian = (value: number): Buffer => number(value).swap32();

function toTime(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const [hours, minutes, rest] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map((part) =>
    String(Math.floor(part)).padStart(2, '0'),
  );
  return `${hours}:${minutes}:${rest}.${String(ms % 1000).padStart(3, '0')}`;
}
