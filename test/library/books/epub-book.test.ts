// Tests that EPUBs of every shape are read completely and in order, or refused with the reason.
import { beforeAll, describe, expect, test } from 'vitest';
import type { BookChapter } from '../../../src/library/books/book.ts';
import { BookFault } from '../../../src/library/books/book.ts';
import { readEpubBook } from '../../../src/library/books/epub-book.ts';
import { epubShapes } from './epub-shapes.ts';
import { pngOf, prose, writeEpub } from './epub-writer.ts';

const show = (chapters: readonly BookChapter[]): string =>
  chapters.map(({ part, title }) => `${part}: ${title}`).join(' | ');
const threeChapters = 'body: Chapter 1 | body: Chapter 2 | body: Chapter 3';

/** Expected result of each shape: its chapters, or the reason for its refusal. */
const outcomes: Readonly<Record<string, string>> = {
  'EPUB 3 with a nav': threeChapters,
  'EPUB 2 with an NCX and a guide': `front: The Lighthouse Ledger | ${threeChapters} | notes: Notes`,
  'no spine: the order of the contents': threeChapters,
  'a spine in another order than the contents': threeChapters,
  'nested contents: parts, chapters, sections': 'body: Chapter 1 | body: Chapter 2 | body: Chapter 3 | body: Chapter 4',
  'a manual: chapters with sections, each chapter one document':
    'body: The Lighthouse Manual | body: About the lamp | body: Lighting it | body: Oil',
  'parts with long introductions, and chapters that no number names, each one document':
    'body: The Coast | body: Of lamps | body: The Sea | body: Of tides',
  'chapters beside and below parts, with sections below chapters':
    'body: The Landing | body: The Path | body: The Hill | body: Of lamps | body: Of tides',
  'parts of long chapters that no number names, in one document':
    'front: Preface | body: Of things 10 | body: Of things 11 | body: Of things 20 | body: Of things 21 | body: The Return',
  'the title above all short chapters, several in a document, and a licence':
    'body: The Lighthouse Ledger | body: Of things 10 | body: Of things 11 | body: Of things 12 | body: Of things 20 | body: Of things 21 | back: The Full Project Gutenberg License',
  'one document, split by the anchors of the contents': 'body: The 1. night | body: The 2. night | body: The 3. night',
  'a chapter over several documents': 'body: Chapter 1 | body: Chapter 2',
  'no contents: headings': threeChapters,
  'no contents, no headings: documents': 'body: 1 | body: 2 | body: 3',
  'files that are missing': 'body: Chapter 1 | body: Chapter 3; OEBPS/2.xhtml is missing from the book.',
  'all chapters are missing': 'damaged: is damaged: it contains none of its chapters',
  'paths percent-encoded, in another case, in another folder': threeChapters,
  'a chapter of 5 MB': threeChapters,
  'encrypted by DRM': 'encrypted: is protected against copying (DRM) by Adobe ADEPT: its text cannot be read',
  'an obfuscated font': threeChapters,
  'an encrypted zip': 'encrypted: is encrypted',
  'a bomb in a chapter': 'too_large: contains OEBPS/2.xhtml, which unpacks to more than 200 times its size',
  'a bomb larger than a chapter may be': 'too_large: contains OEBPS/2.xhtml, which is larger than 32 MiB',
  'a bomb that states another size': 'damaged: is damaged: its file OEBPS/2.xhtml cannot be unpacked',
  'a chapter that unpacks to other bytes': 'damaged: is damaged: its file OEBPS/2.xhtml cannot be unpacked',
  'no container, but a package': threeChapters,
  'a zip that is no EPUB': 'format: is a zip archive but not an EPUB: it has no META-INF/container.xml',
  'Windows-1252 that says it is UTF-8': threeChapters,
  'UTF-16 and ISO-8859-2, as stated': threeChapters,
  'tag soup': threeChapters,
  'footnotes: asides, marks and back links': `${threeChapters} | notes: Notes`,
  'front matter, back matter and notes by epub:type': `front: The Lighthouse Ledger | ${threeChapters} | notes: Endnotes | back: Index | notes: 7`,
  'empty documents and titles alone': threeChapters,
  'chapters that are numbers with a name below': 'body: I: The Lamp | body: II: The Ledger | body: III: The Harbour',
  'drop caps, page numbers, ruby, verse, a table and code': `${threeChapters}; A block of code is omitted.`,
  'a description in markup, two authors and a series': threeChapters,
  'elements nested ten thousand deep': 'too_deep: has elements nested more than 1000 levels deep',
  'contents that lead to one place only': threeChapters,
};

const filesOf = (shape: string) => writeEpub(epubShapes.find(([name]) => name === shape)![1]());
const read = (shape: string, readsCode = false) => readEpubBook(filesOf(shape), { readsCode });

test('every shape has an outcome', () => {
  expect(epubShapes.map(([shape]) => shape)).toEqual(Object.keys(outcomes));
  expect(epubShapes.length).toBeGreaterThanOrEqual(30);
});

test.each(Object.entries(outcomes))('%s', async (shape, outcome) => {
  const found = await read(shape).then(
    ({ chapters, warnings }) => [show(chapters), ...warnings].join('; '),
    (error: unknown) => {
      if (error instanceof BookFault) return `${error.reason}: ${error.message}`;
      throw error;
    },
  );
  const orderless = 'The book has no reading order; the order of its table of contents is used.';
  expect(found).toBe(shape.startsWith('no spine') ? `${outcome}; ${orderless}` : outcome);
});

describe('the text of a chapter', () => {
  const texts = new Map<string, string>();
  const shapes = [
    'footnotes: asides, marks and back links',
    'drop caps, page numbers, ruby, verse, a table and code',
    'Windows-1252 that says it is UTF-8',
    'UTF-16 and ISO-8859-2, as stated',
    'tag soup',
  ];
  beforeAll(async () => {
    for (const shape of shapes) texts.set(shape, (await read(shape)).chapters[1]!.text);
  });

  test('has no marks of notes', () => {
    expect(texts.get(shapes[0]!)).toBe('Chapter 2\n\nThe lamp went out at nine. See 3.');
  });

  test('has what is seen, in paragraphs, lines and rows', () => {
    expect(texts.get(shapes[1]!)).toBe(
      'Chapter 2\n\nThe keeper read 漢字.\n\nOne line\nand another\n\n* * *\n\n| Day | Oil |\n\n| 1 | 2 l |',
    );
  });

  test('is decoded as it is, not as it says', () => {
    expect(texts.get(shapes[2]!)).toBe(`Chapter 2\n\nUn café “noir” — ${prose(2)}`);
    expect(texts.get(shapes[3]!)).toBe(`Chapter 2\n\nŽluť. ${prose(2)}`);
  });

  test('is whole in tag soup', () => {
    expect(texts.get(shapes[4]!)).toBe(`Chapter 2\n\n${prose(2)}\n\nCafé & bar boldboth.\nline\n\n${prose(3)}`);
  });
});

test('notes are gathered in one chapter at the end', async () => {
  const { chapters } = await read('footnotes: asides, marks and back links');
  expect(chapters.at(-1)).toEqual({
    title: 'Notes',
    text: 'It was an oil lamp.\n\nOr ten.\n\n1. A third note.',
    part: 'notes',
  });
});

test('a title alone is spoken with the chapter that follows, and at the end with the one before', async () => {
  const { chapters } = await read('empty documents and titles alone');
  expect(chapters[0]!.text).toBe(`Part One\n\nChapter 1\n\n${prose(1)}\n\n${prose(51)}`);
  expect(chapters[2]!.text).toBe(`Chapter 3\n\n${prose(3)}\n\n${prose(53)}\n\nThe End`);
});

test('a chapter of 5 MB loses no paragraph', async () => {
  const { chapters } = await read('a chapter of 5 MB');
  const paragraphs = chapters[1]!.text.split('\n\n').slice(1);
  expect(paragraphs).toEqual(paragraphs.map((_, n) => prose(n)));
  expect(chapters[1]!.text.length).toBeGreaterThan(5_000_000);
});

test('metadata and the cover are read', async () => {
  const older = await read('EPUB 2 with an NCX and a guide');
  expect(older).toMatchObject({ title: 'The Lighthouse Ledger', author: 'Mara Quill', language: 'en-GB' });
  expect(older.metadata).toEqual({ publisher: 'Own Press' });
  expect(older.cover).toEqual({ contentType: 'image/png', bytes: pngOf() });
  const newer = await read('a description in markup, two authors and a series');
  expect(newer.author).toBe('Mara Quill, Otto Reed');
  expect(newer.metadata).toEqual({ description: 'A tale.', series: 'Coasts' });
});

test.each(['front.xhtml', 'front.png'])('the cover is what the guide names: %s', async (named) => {
  const [, files] = epubShapes.find(([shape]) => shape === 'EPUB 2 with an NCX and a guide')!;
  const renamed = Object.entries(files()).map(([path, content]) => {
    const changed = String(content).replaceAll('cover.', 'front.').replace('content="img"', 'content=""');
    const text = changed.replace('type="cover" href="front.xhtml"', `type="cover" href="${named}"`);
    return [path.replace('cover.', 'front.'), typeof content === 'string' ? text : content];
  });
  const { cover } = await readEpubBook(writeEpub(Object.fromEntries(renamed)), { readsCode: false });
  expect(cover).toEqual({ contentType: 'image/png', bytes: pngOf() });
});

test('a cover in another format is omitted, with a warning', async () => {
  const [, files] = epubShapes.find(([shape]) => shape === 'EPUB 2 with an NCX and a guide')!;
  const bytes = writeEpub({ ...files(), 'OEBPS/cover.png': '<svg xmlns="http://www.w3.org/2000/svg"/>' });
  const { cover, warnings } = await readEpubBook(bytes, { readsCode: false });
  expect(cover).toBeUndefined();
  expect(warnings).toEqual(['The cover is omitted: it is not a JPEG, PNG, GIF or WebP picture.']);
});

test('code is read on request', async () => {
  const { chapters, warnings } = await read('drop caps, page numbers, ruby, verse, a table and code', true);
  expect(chapters[1]!.text).toMatch(/x = 1$/);
  expect(warnings).toEqual([]);
});
