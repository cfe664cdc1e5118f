// Tests that POST /api/books returns chapters that a job accepts unchanged, and refuses other files without reading.
import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { BookSchema, BookService, type CodeReading, ReadBookRequestSchema } from '../../../gen/sonant/v1/book_pb.ts';
import { createBookHandlers } from '../../../src/api/books.ts';
import type { Call } from '../../../src/api/call.ts';
import { writeMessage } from '../../../src/contract/encode.ts';
import { fileBytesMax } from '../../../src/platform/net/request-limits.ts';
import { openJobsGateway } from '../../clips/jobs/open-jobs.ts';
import { chapterPage, container, opf, page, pngOf, prose, writeEpub } from '../../library/books/epub-writer.ts';
import { explain, failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';

const epub = writeEpub({
  'META-INF/container.xml': container(),
  'OEBPS/content.opf': opf({
    items: ['t=title.xhtml', 'c1=1.xhtml', 'c2=2.xhtml', '*img=cover.png'],
    metadata: '<meta name="cover" content="img"/>',
  }),
  'OEBPS/title.xhtml': page('<h1>The Lighthouse Ledger</h1><p>Mara Quill</p>', 'epub:type="titlepage"'),
  'OEBPS/1.xhtml': chapterPage(1),
  'OEBPS/2.xhtml': chapterPage(2),
  'OEBPS/cover.png': pngOf(),
});

async function openBooks() {
  const gateway = await openJobsGateway();
  const send = (body: Uint8Array | string, type = 'application/epub+zip', query = '') =>
    fetch(`${gateway.url}/api/books${query}`, {
      method: 'POST',
      body: Buffer.from(body as string),
      headers: { 'X-API-Key': gateway.jobsKey, 'Content-Type': type },
    });
  return { ...gateway, sendBook: send };
}

test('a book becomes a job: its chapters, cover and metadata are what a job takes', async () => {
  const { sendBook, create, untilEnded } = await openBooks();
  const response = await sendBook(epub);
  expect(response.status).toBe(200);
  const book = (await response.json()) as Record<string, unknown> & { chapters: Record<string, unknown>[] };
  expect(book).toMatchObject({
    title: 'The Lighthouse Ledger',
    author: 'Mara Quill',
    language: 'en-GB',
    metadata: { title: 'The Lighthouse Ledger', author: 'Mara Quill' },
    cover: pngOf().toString('base64'),
    warnings: [],
  });
  expect(book.chapters.map(({ title, part }) => [part, title])).toEqual([
    ['front', 'The Lighthouse Ledger'],
    ['body', 'Chapter 1'],
    ['body', 'Chapter 2'],
  ]);
  const text = `Chapter 1\n\n${prose(1)}\n\n${prose(51)}`;
  expect(book.chapters[1]).toEqual({ title: 'Chapter 1', text, part: 'body', heading_level: 2, chars: text.length });
  const { metadata, cover } = book;
  const chapters = book.chapters.slice(0, 1).map(({ title, text }) => ({ title, text }));
  const job = await untilEnded((await create({ metadata, cover, chapters })).id);
  expect(job).toMatchObject({ status: 'succeeded', chapters: [{ title: 'The Lighthouse Ledger' }] });
});

test('the kind is told by the type, or by the name', async () => {
  const { sendBook } = await openBooks();
  const titles = async (...sent: Parameters<typeof sendBook>) => {
    const book = (await (await sendBook(...sent)).json()) as { title: string; chapters: { title: string }[] };
    return [book.title, ...book.chapters.map(({ title }) => title)];
  };
  const markdown = `# One\n\n${prose(1)}\n\n# Two\n\n${prose(2)}`;
  expect(await titles(markdown, 'text/markdown')).toEqual(['One', 'One', 'Two']);
  expect(await titles(markdown, 'application/octet-stream', '?name=ledger.md')).toEqual(['ledger', 'One', 'Two']);
  const page = Buffer.from(`<h2>Eins</h2><p>\xe4 ${prose(1)}</p><h2>Zwei</h2><p>${prose(2)}</p>`, 'latin1');
  expect(await titles(page, 'text/html; charset=iso-8859-1')).toEqual(['Eins', 'Eins', 'Zwei']);
});

test('BookService reads a book as the HTTP API does', async () => {
  const { sendBook, jobsKey, ...gateway } = await openBooks();
  const client = (await openCore(gateway)).clientOf(BookService, { 'grpc.max_receive_message_length': -1 });
  const call = { metadata: { 'x-api-key': jobsKey } };
  const { book } = await client.unary('readBook', { file: epub }, call);
  expect(writeMessage(BookSchema, book!)).toEqual(await (await sendBook(epub)).json());
  const long = { file: Buffer.from(`${prose(1)}\n\n`.repeat(20_000)), contentType: 'text/plain', name: 'long.txt' };
  const { chapters } = (await client.unary('readBook', long, { ...call })).book!;
  expect(chapters.reduce((sum, { chars }) => sum + chars, 0)).toBeGreaterThan(4 << 20);
  const refused = await failureOf(
    client.unary('readBook', { file: Buffer.from('%PDF-1.7'), code: 7 as CodeReading }, call),
  );
  expect(explain(refused).violations).toMatchObject([{ field: 'code', reason: 'ENUM' }]);
});

describe('what is refused:', () => {
  test('a file that is no book, with the reason', async () => {
    const { sendBook } = await openBooks();
    const response = await sendBook('%PDF-1.7');
    expect(response.status).toBe(400);
    const message = 'is a PDF, which is not supported; convert it to EPUB or plain text first';
    expect(await response.json()).toMatchObject({
      error: 'invalid_request',
      message: `The book ${message}.`,
      details: [{ field: 'book', reason: 'format', message }],
    });
  });

  test('another type, a compressed body, a wrong parameter, and a key without the scope', async () => {
    const { sendBook, url, jobsKey, makeKey } = await openBooks();
    expect((await sendBook('{}', 'application/json')).status).toBe(415);
    expect((await sendBook('a', 'text/plain', '?code=maybe')).status).toBe(400);
    const post = (headers: Record<string, string>) =>
      fetch(`${url}/api/books`, { method: 'POST', body: 'a', headers: { 'Content-Type': 'text/plain', ...headers } });
    expect((await post({ 'X-API-Key': jobsKey, 'Content-Encoding': 'gzip' })).status).toBe(415);
    expect((await post({ 'X-API-Key': await makeKey(['jobs:read']) })).status).toBe(403);
    expect((await post({})).status).toBe(401);
  });

  test('a charset that is none', async () => {
    const { sendBook } = await openBooks();
    const refused = await sendBook('a', 'text/plain; charset=nonsense');
    expect(refused.status).toBe(415);
    expect(await refused.json()).toMatchObject({
      error: 'unsupported_media_type',
      message: 'The charset "nonsense" of the request body is not supported.',
    });
    expect((await sendBook('a', 'text/plain; charset=')).status).toBe(415);
    expect((await sendBook('a', 'text/plain; format=flowed; charset="UTF-8"')).status).toBe(200);
  });

  test('a second book of an account while one is read, though another account may read', async () => {
    const books = createBookHandlers();
    const read = (accountId: string) => {
      const call = { caller: { accountId }, signal: new AbortController().signal } as unknown as Call;
      const request = create(ReadBookRequestSchema, { file: Buffer.from('The lamp.'), name: 'a.txt' });
      return books.readBook(request, call);
    };
    const first = read('ada');
    await expect(read('ada')).rejects.toMatchObject({
      reason: 'rate_limit_exceeded',
      facts: { limitReason: 'concurrency', limit: 1 },
    });
    const other = read('bob');
    await expect(read('eve')).rejects.toMatchObject({ reason: 'overloaded' });
    await Promise.all([first, other]);
    expect((await read('ada')).book.chapters).toHaveLength(1);
  });

  test('a body that is too large, before it is read', async () => {
    const { sendBook } = await openBooks();
    const response = await sendBook(Buffer.alloc(fileBytesMax + 1), 'text/plain');
    expect(response.status).toBe(413);
  });
});
