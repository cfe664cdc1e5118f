// Tests `sonant book` without interruptions (for these see book.programs.ts): a file with marks and captions results.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  chooseChapters,
  parseSpeakers,
  parseVoices,
  silentSpeakers,
  withSpeakers,
} from '../../../src/app/cli/book-request.ts';
import { createProgressBar, createTimeLeft } from '../../../src/app/cli/progress.ts';
import { container, opf, page, pngOf, writeEpub } from '../../library/books/epub-writer.ts';
import { newFolder } from '../../new-folder.ts';
import { runMain } from './run-main.ts';
import { runSonant } from './sonant-program.ts';

const folder = newFolder(afterAll);
beforeAll(() => {
  const chapter = (n: number) => page(`<h2>Chapter ${n}</h2><p>The lamp went out on day ${n}. Nobody saw it.</p>`);
  const epub = writeEpub({
    'META-INF/container.xml': container(),
    'OEBPS/content.opf': opf({
      items: ['t=title.xhtml', 'c1=1.xhtml', 'c2=2.xhtml', 'c3=3.xhtml', '*img=cover.png'],
      metadata: '<meta name="cover" content="img"/>',
    }),
    'OEBPS/title.xhtml': page('<h1>The Lighthouse Ledger</h1><p>Mara Quill</p>', 'epub:type="titlepage"'),
    'OEBPS/1.xhtml': chapter(1),
    'OEBPS/2.xhtml': chapter(2),
    'OEBPS/3.xhtml': chapter(3),
    'OEBPS/cover.png': pngOf(),
  });
  writeFileSync(join(folder, 'ledger.epub'), epub);
});

const sonant = (...args: string[]) => runMain(folder, ['book', ...args]);

test('lists the chapters of a book', async () => {
  const { code, out } = await sonant('ledger.epub', '--list');
  expect(code).toBe(0);
  expect(out).toBe(
    'NUMBER  PART   CHARACTERS  TITLE\n' +
      '1       front  33          The Lighthouse Ledger\n' +
      '2       body   53          Chapter 1\n' +
      '3       body   53          Chapter 2\n' +
      '4       body   53          Chapter 3\n',
  );
});

test('lists those that are chosen, as JSON too, and refuses what it cannot choose', async () => {
  const { code, out } = await sonant('ledger.epub', '--list', '--json', '--skip', 'front', '--chapters', '1-2');
  expect([code, JSON.parse(out)]).toEqual([0, [{ number: 2, part: 'body', chars: 53, title: 'Chapter 1' }]]);
  for (const flags of [
    ['--skip', 'foo'],
    ['--chapters', '9'],
  ])
    expect((await sonant('ledger.epub', '--list', ...flags)).code).not.toBe(0);
});

test('names a speaker whom no line has', () => {
  const speakers = parseSpeakers(['A=amy', 'BOB=bob']);
  expect(silentSpeakers(['It rained.\nA: Who is there?', 'Bob said: no.'], speakers)).toEqual(['BOB']);
});

test('speaks chosen chapters into one file with marks, cover and captions, and leaves nothing else', async () => {
  const flags = ['--skip', 'front', '--chapters', '1-3', '--captions', 'vtt', '--json'];
  const { code, out, err } = await runSonant(folder, ['book', 'ledger.epub', '-o', 'ledger.mp3', ...flags]);
  expect([code, err]).toEqual([0, '']);
  const made = JSON.parse(out);
  const file = readFileSync(join(folder, 'ledger.mp3'));
  expect(made).toMatchObject({
    output: 'ledger.mp3',
    title: 'The Lighthouse Ledger',
    author: 'Mara Quill',
    format: 'mp3',
    bytes: file.length,
    captions: ['ledger.vtt'],
    chapters: [{ title: 'Chapter 1', start: 0 }, { title: 'Chapter 2' }],
  });
  expect(file.toString('latin1', 0, 3)).toBe('ID3');
  for (const text of ['Mara Quill', 'CHAP', 'Chapter 2'])
    expect([
      text,
      file.subarray(0, 4096).includes(text) || file.subarray(0, 4096).includes(Buffer.from(text, 'utf16le')),
    ]).toEqual([text, true]);
  expect(file.includes(pngOf())).toBe(true);
  // A manifest must not name a receipt that nobody can read.
  expect([file.includes('c2pa'), file.includes('rcp_')]).toEqual([true, false]);
  expect(readFileSync(join(folder, 'ledger.vtt'), 'utf8')).toMatch(/^WEBVTT[\s\S]*Nobody saw it\./);
  expect(readdirSync(folder).filter((name) => name.startsWith('ledger.'))).toEqual([
    'ledger.epub',
    'ledger.mp3',
    'ledger.vtt',
  ]);
});

test('ends with a line about the file', async () => {
  const { out } = await sonant('ledger.epub', '-o', 'one.mp3', '--chapters', '2');
  expect(out).toMatch(/^one\.mp3: \d+ s, 1 chapter\n$/);
});

test.each<[what: string, args: string[], words: string]>([
  ['no output', ['ledger.epub'], 'name an audio file'],
  ['no such file', ['nothing.epub', '-o', 'x.mp3'], 'cannot read nothing.epub'],
  ['a chapter that is not there', ['ledger.epub', '-o', 'x.mp3', '--chapters', '3-9'], 'chapters 1 to 4'],
  [
    'a part that is none',
    ['ledger.epub', '-o', 'x.mp3', '--skip', 'middle'],
    'must be one of front, body, notes, back',
  ],
  ['a seed that is none', ['ledger.epub', '-o', 'x.mp3', '--seed', '1.5'], '--seed'],
  ['a voice that is not there', ['ledger.epub', '-o', 'x.mp3', '--voice', 'nobody'], 'voice not found'],
])('%s is wrong usage', async (_what, args, words) => {
  const { code, err } = await sonant(...args);
  expect(code).toBe(2);
  expect(err).toContain(words);
});

describe('flags', () => {
  const chapters = (['front', 'body', 'body', 'notes'] as const).map((part, n) => ({ title: `${n}`, text: 'a', part }));
  const numbers = (flags: { skip?: string; numbers?: string }) =>
    chooseChapters(chapters, { skip: undefined, numbers: undefined, ...flags }).map(({ number }) => number);

  test('choose chapters', () => {
    expect(numbers({})).toEqual([1, 2, 3, 4]);
    expect(numbers({ numbers: '3-,1' })).toEqual([1, 3, 4]);
    expect(numbers({ skip: 'front,notes' })).toEqual([2, 3]);
    expect(() => numbers({ numbers: '1', skip: 'front' })).toThrow('no chapter is left');
    expect(() => numbers({ numbers: 'two' })).toThrow('must be numbers of chapters');
  });

  test('choose voices for all and for some chapters', () => {
    const { ofBook, ofChapter } = parseVoices(['amy', '2-3=bob'], 4);
    expect([ofBook, ...ofChapter]).toEqual(['amy', [2, 'bob'], [3, 'bob']]);
  });

  test('give speakers their voices', () => {
    const speakers = parseSpeakers(['Anna=amy', 'OLD KEEPER=bob']);
    expect(withSpeakers('Nobody: speaks here.', speakers)).toEqual(['Nobody: speaks here.']);
    expect(withSpeakers('Night & fog.\n\nANNA: Who is <there>?\nOld Keeper: I.', speakers)).toEqual([
      '<speak><p>Night &amp; fog.</p>\n<break time="700ms"/><p><voice name="amy">Who is &lt;there&gt;?</voice>\n<voice name="bob">I.</voice></p>\n</speak>',
    ]);
    expect(withSpeakers('One\n\nANNA: I.\n\n* * *\n\nIt rained.', speakers)).toEqual([
      '<speak><p>One</p>\n<break time="1000ms"/><p><voice name="amy">I.</voice></p>\n<break time="1400ms"/><p>It rained.</p>\n</speak>',
    ]);
    const documents = withSpeakers('ANNA: A line of hers.\n\n'.repeat(3_000), speakers);
    expect(documents.length).toBeGreaterThan(1);
    expect(documents.every(({ length }) => length < 50_000)).toBe(true);
    // The number of pauses in a document is limited.
    expect(withSpeakers('ANNA: I.\n\n'.repeat(860), speakers)).toHaveLength(2);
    expect(() => parseSpeakers(['Anna'])).toThrow('NAME=VOICE');
  });

  test('without a terminal, progress is a line every ten seconds', () => {
    let nowMs = 0;
    const lines: string[] = [];
    const write = (line: string | Uint8Array) => lines.push(String(line)) > 0;
    const bar = createProgressBar({ isTTY: false, write }, () => nowMs);
    for (; nowMs <= 25_000; nowMs += 1_000) bar.show(nowMs / 50_000, `${nowMs / 1_000} s`);
    bar.clear();
    expect(lines).toEqual(['sonant: 20 %, 10 s\n', 'sonant: 40 %, 20 s\n']);
  });

  test('the time left is by the rate of this run', () => {
    let nowMs = 0;
    const left = createTimeLeft(() => nowMs);
    expect(left(500, 1_000)).toBe('');
    nowMs = 60_000;
    expect(left(600, 1_000)).toBe(', 4 min left');
    expect(left(990, 1_000)).toBe(', 1 s left');
    expect(createTimeLeft(() => nowMs)(0, 1_000)).toBe('');
  });
});
