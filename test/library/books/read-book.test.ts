// Tests that plain text, Markdown and HTML are read as chapters, and that other files are refused with the reason.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { toJobFields } from '../../../src/clips/jobs/job-request.ts';
import type { Book } from '../../../src/library/books/book.ts';
import { readHtmlBook } from '../../../src/library/books/html-book.ts';
import { readMarkdownBook } from '../../../src/library/books/markdown-book.ts';
import { readPlainBook } from '../../../src/library/books/plain-book.ts';
import { type BookReading, readBook } from '../../../src/library/books/read-book.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { isLongRun } from '../../long/run-length.ts';
import { newFolder } from '../../new-folder.ts';
import { chapterPage, container, opf, prose, writeEpub } from './epub-writer.ts';
import { hostileBooks } from './hostile-books.ts';

const options = { readsCode: false };
const show = ({ chapters }: Pick<Book, 'chapters'>): string[] => chapters.map(({ part, title }) => `${part}: ${title}`);
const { signal } = new AbortController();
const read = (source: BookReading['source'], more: Partial<BookReading> = {}) => readBook({ source, signal, ...more });

describe('a plain text', () => {
  const wrapped = (n: number) => `${prose(n)}`.replace(/(.{60,70}) /g, '$1\n');

  test('of Project Gutenberg: contents are no chapters, and its own words are front and back matter', () => {
    const titles = ['CHAPTER I. The Lamp', 'CHAPTER II. The Gull', 'CHAPTER III. The Storm'];
    const source = [
      'The Project Gutenberg eBook of The Lighthouse Ledger',
      'Title: The Lighthouse Ledger',
      'Author: Mara Quill',
      'Language: English',
      '*** START OF THE PROJECT GUTENBERG EBOOK THE LIGHTHOUSE LEDGER ***',
      'THE LIGHTHOUSE LEDGER',
      'by Mara Quill',
      'Contents',
      ...titles,
      ...titles.flatMap((title, n) => [`\n\n${title}`, wrapped(n), wrapped(n + 10)]),
      '*** END OF THE PROJECT GUTENBERG EBOOK THE LIGHTHOUSE LEDGER ***',
      'You may copy it.',
    ].join('\n\n');
    const book = readPlainBook(source, options);
    expect(book).toMatchObject({ title: 'The Lighthouse Ledger', author: 'Mara Quill', language: 'en' });
    expect(show(book)).toEqual([
      'front: 1',
      'front: 2',
      'front: Contents',
      ...titles.map((title) => `body: ${title}`),
      'back: 7',
    ]);
    expect(book.chapters[3]!.text).toBe(`${titles[0]}\n\n${prose(0)}\n\n${prose(10)}`);
  });

  test.each<[language: string, titles: string[]]>([
    ['German', ['Erstes Kapitel', 'Zweites Kapitel', 'Kapitel 3: Der Sturm']],
    ['French', ['Chapitre premier', 'CHAPITRE II', 'Chapitre 3 – La tempête', 'Épilogue']],
    ['Spanish', ['Prólogo', 'Capítulo I', 'Capítulo II. La gaviota']],
    ['Polish', ['Rozdział pierwszy', 'Rozdział drugi']],
    ['Hungarian', ['1. fejezet', 'Második fejezet']],
    ['Russian', ['Глава первая', 'Глава 2. Буря']],
    ['Chinese', ['第一章 灯塔', '第二章 海鸥']],
    ['numbers', ['I', 'II', 'III']],
    ['lines that stand apart', ['The Lamp', 'The Gull on the Stair', 'A Storm']],
  ])('with chapters in %s', (_language, titles) => {
    const book = readPlainBook(titles.map((title, n) => `${title}\n\n${prose(n)}`).join('\n\n\n'), options);
    expect(show(book)).toEqual(titles.map((title) => `body: ${title}`));
    expect(book.chapters.map(({ text }) => text)).toEqual(titles.map((title, n) => `${title}\n\n${prose(n)}`));
  });

  test('with the name of a chapter below its number', () => {
    const source = ['The Lamp', 'The Gull'].map((name, n) => `CHAPTER ${n + 1}\n\n${name}\n\n${prose(n)}`).join('\n\n');
    expect(show(readPlainBook(source, options))).toEqual(['body: CHAPTER 1: The Lamp', 'body: CHAPTER 2: The Gull']);
    const sentences = ['It rained.', 'ANNA: Who is there', 'THE STORM.'].map(
      (line, n) => `CHAPTER ${n + 1}\n\n${line}\n\n${prose(n)}`,
    );
    expect(show(readPlainBook(sentences.join('\n\n'), options))).toEqual([
      'body: CHAPTER 1',
      'body: CHAPTER 2',
      'body: CHAPTER 3: THE STORM',
    ]);
  });

  test('with titles right above the text', () => {
    const source = [1, 2].map((n) => `Chapter ${n}\n${wrapped(n)}`).join('\n\n');
    const { chapters } = readPlainBook(source, options);
    expect(chapters.map(({ text }) => text)).toEqual([1, 2].map((n) => `Chapter ${n}\n\n${prose(n)}`));
  });

  test('without chapters is one, with its lines of verse', () => {
    const verse = 'One line of it\nand another one';
    const { chapters } = readPlainBook(`***\n\n${prose(1)}\n\n${verse}\n\n***\n\n${prose(2)}\n\n***`, options);
    expect(chapters.map(({ text }) => text)).toEqual([`${prose(1)}\n\n${verse}\n\n* * *\n\n${prose(2)}`]);
  });
});

test('Markdown: metadata, headings, links, tables, footnotes; code is left out', () => {
  const source = `---
title: The Lighthouse Ledger
author: [Mara Quill, Otto Reed]
lang: en
date: 2026-01-02
---
# The Lighthouse Ledger

## Chapter 1

The *lamp* is [here](https://example.com "x").[^1] ![alt](x.png)

\`\`\`js
const left = 'out'; // [^1]
\`\`\`

| Day | Oil |
|-----|-----|
| 1   | 2 l |

1. first
2. second

## Chapter 2

${prose(2)}

[^1]: A note
    on two lines.
`;
  const book = readMarkdownBook(source, options);
  expect(book).toMatchObject({
    title: 'The Lighthouse Ledger',
    author: 'Mara Quill, Otto Reed',
    language: 'en',
    metadata: { date: '2026-01-02' },
    warnings: ['A block of code is omitted.'],
  });
  expect(show(book)).toEqual(['body: Chapter 1', 'body: Chapter 2', 'notes: Notes']);
  expect(book.chapters[0]!.text).toBe(
    'The Lighthouse Ledger\n\nChapter 1\n\nThe lamp is here.\n\n| Day | Oil |\n\n| 1 | 2 l |\n\n1. first\n\n2. second',
  );
  expect(book.chapters[2]!.text).toBe('A note on two lines.');
  expect(readMarkdownBook(source, { readsCode: true }).chapters[0]!.text).toContain("const left = 'out'; // [^1]");
});

test('a first chapter that is short is no title page, and a title page is', () => {
  const book = (first: string) => `# One\n\n${first}\n\n## Two\n\n${prose(2)}\n\n## Three\n\n${prose(3)}`;
  const read = (first: string) => show(readMarkdownBook(book(first), options));
  expect(read('It went out at nine.')).toEqual(['body: One', 'body: Two', 'body: Three']);
  expect(read('by Mara Quill')).toEqual(['front: One', 'body: Two', 'body: Three']);
});

test('a chapter of very many paragraphs and notes is read', () => {
  const notes = Array.from({ length: 200_000 }, () => '<p role="doc-footnote">A note.</p>').join('');
  const page = `<h1>One</h1><p>${prose(1)}</p>${notes}<h1>Two</h1><p>${prose(2)}</p><h1>Three</h1>`;
  expect(show(readHtmlBook(page, options)).slice(0, 2)).toEqual(['body: One', 'body: Two']);
});

test('HTML: the main content of a page, without what stands around it', () => {
  const source = `<!doctype html><html lang="de"><head><title>Die Leuchte</title><meta name="author" content="Mara Quill">
    <script>var a = '<p>no</p>'</script><style>p { color: red }</style></head><body><header>Menu</header><nav><a href="/">Home</a></nav>
    <main><h1>Die Leuchte</h1><p>${prose(1)}<h2>Eins</h2><p>${prose(2)}</p><h2>Zwei</h2><p>${prose(3)}</p></main>
    <aside>Adverts</aside><footer>Imprint</footer></body></html>`;
  const book = readHtmlBook(source, options);
  expect(book).toMatchObject({ title: 'Die Leuchte', author: 'Mara Quill', language: 'de' });
  expect(book.chapters.map(({ text }) => text)).toEqual([
    `Die Leuchte\n\n${prose(1)}`,
    `Eins\n\n${prose(2)}`,
    `Zwei\n\n${prose(3)}`,
  ]);
});

test.each([
  ['list', '<ol><li>One<li>Two<ul hidden><li>no</ul><li>Three</ol>', '1. One\n\n2. Two\n\n3. Three'],
  ['item', '<ol><li>One<li hidden>no<li>Two</ol><p>After.', '1. One\n\n2. Two\n\nAfter.'],
  ['last item', '<ol><li>One<li style="display: none">no</ol><p>After.', '1. One\n\nAfter.'],
  ['row', '<table><tr><td>One<tr hidden><td>no<tr><td>Two</table>', 'One\n\nTwo'],
  ['line', 'One.<hr hidden>Two.', 'One.\n\nTwo.'],
  ['heading', '<h2 hidden>no</h2>Loose.<p>Next.', 'Loose.\n\nNext.'],
])('%s: what is not seen changes nothing that is read after it', (_what, source, text) => {
  const { chapters } = readHtmlBook(`<h1>Chapter 1</h1><p>${prose(1)}</p>${source}`, options);
  expect(chapters.map((chapter) => chapter.text)).toEqual([`Chapter 1\n\n${prose(1)}\n\n${text}`]);
});

test('titles and metadata are cut between characters', async () => {
  const title = `${'a'.repeat(298)}\u{1f600}\u{1f600}`;
  const description = `${'b'.repeat(999)}\u{1f600}${'c'.repeat(2998)}\u{1f600}`;
  const bytes = writeEpub({
    'META-INF/container.xml': container(),
    'OEBPS/content.opf': opf({
      metadata: `<dc:description>${description}</dc:description>`,
      items: ['c1=1.xhtml'],
    }),
    'OEBPS/1.xhtml': chapterPage(1, title),
  });
  const book = await read(bytes);
  expect(book.chapters[0]!.title).toBe(`${'a'.repeat(298)}…`);
  expect(book.metadata.description).toBe(description.slice(0, 3999));
  expect(toJobFields(book).metadata.description).toBe('b'.repeat(999));
});

describe('in a process,', () => {
  const folder = newFolder(afterAll);

  test('a book is read from a path, and without a title has the name of its file', async () => {
    const path = join(folder, 'The Ledger.md');
    await writeFile(path, `## One\n\n${prose(1)}\n\n## Two\n\n${prose(2)}`);
    const book = await read(path);
    expect(book).toMatchObject({ author: '', language: '', warnings: [] });
    expect(show(book)).toEqual(['body: One', 'body: Two']);
  });

  test('an EPUB is read from bytes, whatever type is stated', async () => {
    const bytes = writeEpub({
      'META-INF/container.xml': container(),
      'OEBPS/content.opf': opf({ items: ['c1=1.xhtml', 'c2=2.xhtml'] }),
      'OEBPS/1.xhtml': chapterPage(1),
      'OEBPS/2.xhtml': chapterPage(2),
    });
    expect(show(await read(bytes, { type: 'text/plain' }))).toEqual(['body: Chapter 1', 'body: Chapter 2']);
  });

  test.each<[what: string, bytes: Uint8Array, more: Partial<BookReading>, reason: string, message: string]>([
    ['nothing', Buffer.alloc(0), {}, 'empty', 'is empty'],
    ['white space', Buffer.from(' \n\n '), {}, 'empty', 'contains no text'],
    [
      'a PDF',
      Buffer.from('%PDF-1.7\n'),
      {},
      'format',
      'is a PDF, which is not supported; convert it to EPUB or plain text first',
    ],
    [
      'binary data',
      Buffer.alloc(100),
      {},
      'format',
      'is neither text nor a supported book format; send EPUB, Markdown, HTML or plain text',
    ],
    [
      'text called EPUB',
      Buffer.from('Hello.'),
      { name: 'a.epub' },
      'damaged',
      'is not an EPUB: it is not a zip archive',
    ],
    ['half an EPUB', writeEpub({ a: prose(1) }).subarray(0, 150), {}, 'damaged', 'is incomplete: it ends too early'],
    [
      'more text than a book has',
      Buffer.from(`${prose(1, 100)}\n\n`.repeat(5_000)),
      {},
      'too_large',
      'has more than 20 million characters',
    ],
  ])('%s is refused', async (_what, bytes, more, reason, message) => {
    const failure = await read(bytes, more).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect(failure).toMatchObject({
      reason: 'invalid_request',
      message: `The book ${message}.`,
      facts: { details: [{ field: 'book', reason, message }] },
    });
  });

  /** Refusals whose reason is known. */
  const refusals: Readonly<Record<string, readonly [reason: string, message: string]>> = {
    'quotes 100 000 deep': ['too_deep', 'is nested too deeply'],
    'a line of 30 MB': ['too_deep', 'is nested too deeply'],
    'newlines of 30 MB': ['too_large', 'needs too much memory to read'],
    'underscores and words': ['too_slow', 'needs more than 5 s to read'],
  };

  test.each(hostileBooks.filter(({ type }) => isLongRun || type === 'text/markdown'))(
    'a hostile book is read, or refused without ending another process: $name',
    { timeout: 120_000 },
    async ({ name, type, bytes }) => {
      const outcome: unknown = await read(bytes(), { type }).catch((error: unknown) => error);
      const [reason, message] = refusals[name] ?? [expect.any(String), expect.any(String)];
      const refusal = { reason: 'invalid_request', facts: { details: [{ field: 'book', reason, message }] } };
      if (name in refusals || outcome instanceof Error) expect(outcome).toMatchObject(refusal);
      else expect(outcome).toHaveProperty('chapters.0.text');
    },
  );

  test.each([
    ['UTF-16LE', false],
    ['UTF-16BE', true],
  ])('an HTML page in %s without a byte order mark is recognized by its content', async (_name, isSwapped) => {
    const bytes = Buffer.from(`<!DOCTYPE html><html><body><h1>The Sea</h1><p>${prose(1)}</p></body></html>`, 'utf16le');
    const { title, chapters } = await read(isSwapped ? bytes.swap16() : bytes, {});
    expect(title).toBe('The Sea');
    expect(chapters[0]!.text).toContain(prose(1).slice(0, 40));
  });

  test('an interruption ends the reading', async () => {
    const leaving = new AbortController();
    const reading = read(Buffer.from(`${prose(1, 100)}\n\n`.repeat(3_000)), { signal: leaving.signal });
    leaving.abort(new Error('left'));
    await expect(reading).rejects.toThrow('left');
  });
});
