// Calls the parsers of untrusted input directly: texts, markup, recordings, archives, models and frames.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { decodeRecording } from '../../src/audio/recording/recording.ts';
import { RecordingFault } from '../../src/audio/recording/track.ts';
import { BookFault } from '../../src/library/books/book.ts';
import { readEpubBook } from '../../src/library/books/epub-book.ts';
import { readHtmlBook } from '../../src/library/books/html-book.ts';
import { readMarkdownBook } from '../../src/library/books/markdown-book.ts';
import { readPlainBook } from '../../src/library/books/plain-book.ts';
import { readPls, writePls } from '../../src/library/lexicons/pls.ts';
import { parseRows, TableFault } from '../../src/library/models/model-table.ts';
import { openArchive } from '../../src/platform/archives/archive-file.ts';
import { ArchiveFault, EntryRules } from '../../src/platform/archives/entry-rules.ts';
import { atOnce } from '../../src/platform/runtime/steps.ts';
import type { LexiconEntry } from '../../src/text/lexicon.ts';
import { MarkupFault } from '../../src/text/marked-text.ts';
import { FrameReader, toFrame } from '../../src/transports/vendors/wyoming/frames.ts';
import { tone } from '../audio/measure-tone.ts';
import { flacFile, mp3File, oggFlacFile, wavFile } from '../audio/recording-files.ts';
import { epubShapes } from '../library/books/epub-shapes.ts';
import { writeEpub } from '../library/books/epub-writer.ts';
import { bzip2, writeTar, writeZip } from '../platform/archives/archive-writer.ts';
import { expectRefusal, type OpenTarget } from './target.ts';
import { textTargets } from './text-targets.ts';

const recordings: OpenTarget = async () => {
  const channel = tone({ frequencyHz: 440, sampleRateHz: 16_000, seconds: 0.2 });
  return {
    name: 'recordings',
    seeds: [
      wavFile([channel], { sampleRateHz: 16_000 }),
      wavFile([channel, channel], { sampleRateHz: 48_000, bits: 24, isExtensible: true }),
      wavFile([channel], { sampleRateHz: 8_000, bits: 32, isFloat: true, isLarge: true }),
      flacFile([channel], 16_000),
      oggFlacFile([channel], 16_000),
      await mp3File(channel, 16_000),
    ],
    words: ['RIFF', 'WAVE', 'fmt ', 'data', 'ds64', 'fLaC', 'OggS', 'OpusHead', 'ID3\u0004', '\u00ff\u00fb'],
    run: (input) =>
      expectRefusal(
        () => decodeRecording(input, { secondsMax: 60 }),
        (error) => error instanceof RecordingFault,
      ),
  };
};

/** Errors of Node's decompressors for damaged data. */
const isDamaged = (error: unknown): boolean =>
  error instanceof ArchiveFault || /^(Z_|ENAMETOOLONG)/.test((error as NodeJS.ErrnoException).code ?? '');

const archives: OpenTarget = () => {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-fuzz-'));
  const files = [
    { name: 'model/a.txt', content: 'text '.repeat(50) },
    { name: 'model/b.bin', content: Buffer.alloc(2000, 7) },
  ];
  const tar = writeTar(files);
  return {
    name: 'archives',
    seeds: [tar, gzipSync(tar), bzip2(tar), writeZip(files)],
    words: ['PK\u0001\u0002', 'PK\u0005\u0006', 'ustar', 'BZh9', '../', '/etc/', '\u001f\u008b', '\u0000'],
    async run(input) {
      const path = join(folder, input.subarray(0, 2).toString('latin1') === 'PK' ? 'a.zip' : 'a.tar.bz2');
      writeFileSync(path, input);
      await expectRefusal(async () => {
        await using opened = await openArchive(path, () => {});
        const rules = new EntryRules(opened.packedBytes);
        for await (const { name, kind, bytes, content } of opened.entries) {
          const inside = rules.accept(name, kind, bytes);
          if (inside === undefined || kind === 'folder') continue;
          if (/(^|\/)\.\.(\/|$)|^\//.test(inside)) throw new Error(`the path ${inside} leads out`);
          for await (const piece of content) rules.count(piece.length);
        }
      }, isDamaged);
    },
    close: async () => rmSync(folder, { recursive: true }),
  };
};

const lexicons: OpenTarget = () => ({
  name: 'lexicons',
  seeds: [
    Buffer.from(
      writePls(
        'Names',
        [{ grapheme: 'AWS', alias: 'Amazon Web Services', case: 'sensitive' } as LexiconEntry],
        'en-US',
      ),
    ),
    Buffer.from(
      '<?xml version="1.0"?><lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon" alphabet="ipa" xml:lang="en">' +
        '<meta name="title" content="T"/><lexeme><grapheme>a</grapheme><phoneme>\u0259</phoneme></lexeme></lexicon>',
    ),
  ],
  words: [
    '<lexeme>',
    '</lexeme>',
    '<grapheme>',
    '<alias>b</alias>',
    '<!DOCTYPE a>',
    '&a;',
    '&#0;',
    'prefer="true"',
    '\ud83d',
  ],
  run: (input) =>
    expectRefusal(
      () => atOnce(readPls(input.toString('utf8'), 1000)),
      (error) => error instanceof MarkupFault,
    ),
});

const books: OpenTarget = () => {
  const options = { readsCode: false };
  const isFault = (error: unknown) => error instanceof BookFault;
  const epubs = epubShapes.slice(0, 8).map(([, files]) => writeEpub(files()));
  return {
    name: 'books',
    seeds: [
      ...epubs,
      Buffer.from(
        '# One\n\nText *with* [links](a) and `code`.\n\n## Two\n\n- a\n- b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n',
      ),
      Buffer.from(
        '<html><body><h1>One</h1><p>Text<ruby>a<rt>b</rt></ruby></p><nav>x</nav><h2>Two</h2><p>More</p></body></html>',
      ),
      Buffer.from('CHAPTER I\n\nIt was dark.\n\nCHAPTER II\n\nIt was light.\n'),
    ],
    words: [
      '<h1>',
      '</p>',
      '<script>',
      '# ',
      '```',
      '<spine>',
      'PK\u0001\u0002',
      '<itemref idref="',
      '../',
      'epub:type="toc"',
      '&nbsp;',
    ],
    async run(input) {
      if (input.subarray(0, 2).toString('latin1') === 'PK')
        return expectRefusal(() => readEpubBook(input, options), isFault);
      const text = input.toString('utf8');
      for (const read of [readHtmlBook, readMarkdownBook, readPlainBook])
        await expectRefusal(() => read(text, options), isFault);
    },
  };
};

const modelTables: OpenTarget = () => ({
  name: 'tables of models',
  seeds: [
    Buffer.from(
      JSON.stringify({
        models: [
          {
            name: 'a',
            url: 'https://x.test/a.zip',
            sha256: 'a'.repeat(64),
            bytes: 5,
            languages: ['en'],
            commercial: true,
          },
          { name: 'b', url: 'https://x.test/b.zip', parts: [{ url: 'https://x.test/c', as: 'c.onnx' }], files: {} },
        ],
      }),
    ),
  ],
  words: ['null', '[]', '{}', '"__proto__":', '1e999', '-1', '"\\u0000"', 'true', '"url":"http://"'],
  run: (input) =>
    expectRefusal(
      () => parseRows(JSON.parse(input.toString('utf8'))),
      (error) => error instanceof TableFault || error instanceof SyntaxError,
    ),
});

const wyomingFrames: OpenTarget = () => ({
  name: 'Wyoming frames',
  seeds: [
    toFrame('describe'),
    toFrame('synthesize', { text: 'Hello.', voice: { name: 'arthur' } }),
    toFrame('synthesize-chunk', { text: 'x'.repeat(300) }, Buffer.alloc(20)),
  ],
  words: ['\n', '"data_length":', '"payload_length":99999999999', '{"type":"synthesize"}\n', 'null', '-1'],
  run(input) {
    const reader = new FrameReader();
    return expectRefusal(() => {
      for (let at = 0; at < input.length; at += 100) for (const _ of reader.push(input.subarray(at, at + 100)));
    });
  },
});

export const parserTargets: readonly OpenTarget[] = [
  ...textTargets,
  recordings,
  archives,
  lexicons,
  books,
  modelTables,
  wyomingFrames,
];
