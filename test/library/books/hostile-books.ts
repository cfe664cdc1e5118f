// Provides books that are deliberately hard to read: each with its name, type and bytes.
import { type Files, nav, ncx, opf, page, prose, writeEpub } from './epub-writer.ts';
import { good, meta, navItem } from './good-epub.ts';

const mebibyte = 2 ** 20;
/** Repeats the text as often as it fits into `bytes` bytes. */
const fill = (text: string, bytes = 30 * mebibyte): string => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));
const nested = (open: string, close: string, depth: number): string =>
  `${open.repeat(depth)}deep${close.repeat(depth)}`;
const indented = (mark: string, depth: number): string =>
  Array.from({ length: depth }, (_, n) => `${' '.repeat(n * mark.length)}${mark}a`).join('\n');
const each = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join('');
const chapters = `# One\n\n${prose(1)}\n\n# Two\n\n${prose(2)}\n\n`;

const epub = (files: Files): Uint8Array => writeEpub({ ...good, ...files });
const ofItems = (count: number): string[] => Array.from({ length: count }, (_, n) => `c${n}=1.xhtml?${n}`);

const markdown: Readonly<Record<string, () => string>> = {
  'quotes 100 000 deep': () => `${'>'.repeat(100_000)} a`,
  'quotes 100 000 deep, a line each': () => each(3_000, (n) => `${'>'.repeat(n)} a\n`),
  'a list 5 000 deep': () => indented('- ', 5_000),
  'a list 100 000 deep in a line': () => `${'- '.repeat(100_000)}a`,
  'numbers 100 000 deep in a line': () => `${'1. '.repeat(100_000)}a`,
  'quotes and lists by turns': () => `${'> - '.repeat(50_000)}a`,
  'emphasis 100 000 deep': () => `${'*a **b '.repeat(50_000)}${'** *'.repeat(50_000)}`,
  stars: () => '*'.repeat(1_000_000),
  'stars and words': () => fill('*a ', mebibyte),
  'underscores and words': () => fill('_a', mebibyte),
  strokes: () => fill('~~a ', mebibyte),
  'open brackets': () => '['.repeat(1_000_000),
  'open links': () => fill('[a](', mebibyte),
  'open links in angles': () => fill('[a](<b', mebibyte),
  'images in images': () => nested('![', '](a)', 50_000),
  'links to definitions': () => `${each(20_000, (n) => `[a${n}]: /b\n`)}\n${each(20_000, (n) => `[a${n}] `)}`,
  'open notes': () => fill('a[^', mebibyte),
  notes: () => each(200_000, (n) => `[^${n}]: a\n`),
  'one note of many lines': () => `[^1]: a\n${fill('  a\n', 4 * mebibyte)}`,
  backticks: () => '`'.repeat(1_000_000),
  'backticks of all lengths': () => each(2_000, (n) => `${'`'.repeat(n)}a`),
  'open fences': () => fill('```\n~~~\n', mebibyte),
  'a table with 100 000 columns': () =>
    `${'|a'.repeat(100_000)}|\n${'|-'.repeat(100_000)}|\n${'|b'.repeat(100_000)}|\n`,
  'a table with short rows': () => `${'|a'.repeat(5_000)}|\n${'|-'.repeat(5_000)}|\n${'|b|\n'.repeat(5_000)}`,
  'a table of 1 000 000 rows': () => `|a|\n|-|\n${'|b|\n'.repeat(1_000_000)}`,
  'angle brackets': () => fill('<', mebibyte),
  'open tags': () => fill('<a ', mebibyte),
  'open comments': () => fill('<!-- ', mebibyte),
  'open blocks of HTML': () => fill('<div>\n', mebibyte),
  entities: () => fill('&amp;', 10 * mebibyte),
  addresses: () => fill('a@b.', mebibyte),
  'addresses of pages': () => fill('https://a.b/(', mebibyte),
  backslashes: () => fill('\\', mebibyte),
  'newlines of 30 MB': () => `${chapters}${fill('\n')}a`,
  'a line of 30 MB': () => `${chapters}${fill('a')}`,
  'a line of words of 18 MB': () => `${chapters}${fill('a ', 18 * mebibyte)}`,
  'lines of a character': () => `${chapters}${fill('a\n\n', 20 * mebibyte)}`,
  'lines of a character in one paragraph': () => `${chapters}${fill('a\n', 8 * mebibyte)}`,
  rules: () => `${chapters}${fill('***\n')}`,
  headings: () => fill('# a\n', 8 * mebibyte),
  'heading marks below': () => fill('a\n=\n', 8 * mebibyte),
  bullets: () => fill('- a\n', 8 * mebibyte),
  'bullets apart': () => fill('- a\n\n', 4 * mebibyte),
  'empty bullets': () => fill('-\n', 4 * mebibyte),
  spaces: () => `${chapters}${fill(' ')}a`,
  'spaces before lines': () => fill(`${' '.repeat(999)}a\n`, 18 * mebibyte),
  tabs: () => `${chapters}${fill('\t')}a`,
  'front matter of nesting': () => `---\na: ${'['.repeat(30_000)}\n---\n${chapters}`,
  'front matter of mappings': () => `---\n${each(9_000, (n) => `a${n}: b\n`).slice(0, 65_000)}\n---\n${chapters}`,
};

const html: Readonly<Record<string, () => string>> = {
  'elements 100 000 deep': () => nested('<div>', '</div>', 100_000),
  'elements 999 deep, again and again': () => fill(nested('<div>', '</div>', 990), 8 * mebibyte),
  'elements that nothing closes': () => fill('<b><p>', 4 * mebibyte),
  'ends of elements': () => fill('</p>'),
  'entities of HTML': () => fill('&lt;', 30 * mebibyte),
  'open entities': () => fill('&'),
  'open tags of HTML': () => fill('<a '),
  attributes: () => `<p ${each(1_000_000, (n) => `a${n}="" `)}>a</p>`,
  'an attribute of 30 MB': () => `<p class="${fill('a ')}">a</p>`,
  'classes that nearly match': () => `<p class="${fill('page-break-numbe ', 8 * mebibyte)}">a</p>`,
  'styles that nearly match': () => `<p style="${fill(';display ', 8 * mebibyte)}">a</p>`,
  anchors: () => each(1_000_000, (n) => `<a id="${n}"></a>`),
  links: () => fill('<a href="#a">1</a>', 20 * mebibyte),
  'links in links': () => `<p>${fill('<sup>a', 5_000)}${'</sup>'.repeat(800)}`,
  'raised texts': () => `<p>a${fill('<sup>b</sup>', 20 * mebibyte)}`,
  'line breaks': () => `<p>a${fill('<br>')}b`,
  'empty paragraphs': () => `${fill('<p>')}a`,
  paragraphs: () => fill('<p>a', 20 * mebibyte),
  'tables in tables': () => nested('<table><tr><td>', '</table>', 300),
  'a row of 2 000 000 cells': () => `<table><tr>${fill('<td>a', 10 * mebibyte)}</table>`,
  'lists in lists': () => nested('<ol><li>a', '</ol>', 490),
  titles: () => `${fill('<title>a</title>', 10 * mebibyte)}<p>a`,
  metas: () => `${each(200_000, (n) => `<meta name="${n}" content="a">`)}<p>a`,
  'headings of HTML': () => fill('<h1>a</h1>', 20 * mebibyte),
  'headings in notes': () => fill('<aside class="footnote"><h1>a</h1></aside>', 20 * mebibyte),
  'commas apart': () => `<p>${fill(' , ', 8 * mebibyte)}`,
  'spaces of HTML': () => `<p>a${fill(' ')}b`,
  'soft hyphens': () => `<p>a${fill('\u00ad')}b`,
};

const plain: Readonly<Record<string, () => string>> = {
  'newlines of 30 MB in plain text': () => `a${fill('\n')}b`,
  'a line of 18 MB in plain text': () => fill('a', 18 * mebibyte),
  'lines of a character in plain text': () => fill('a\n\n', 30 * mebibyte),
  'lines without empty ones': () => fill('a\n', 20 * mebibyte),
  'titles of chapters': () => each(500_000, (n) => `Chapter ${n}\n\n`),
  'titles that come again': () =>
    `${each(4_000, (n) => `Chapter ${n}\n\n`)}a\n\n${each(4_000, (n) => `Chapter ${n}\n\na\n\n`)}`,
  numbers: () => each(500_000, (n) => `${n}\n\n`),
  'roman numerals': () => fill('XIV\n\n', 10 * mebibyte),
  'titles apart': () => fill('A Title\n\n\nprose that goes on and on and on and on and on.\n\n\n', 18 * mebibyte),
  'lines of a header': () => `${fill('Title: \n', 8 * mebibyte)}\n*** START OF THE PROJECT GUTENBERG\n\na`,
  'signs of a rule': () => `a\n\n${fill(`${'* '.repeat(60)}a\n\n`, 18 * mebibyte)}`,
  'words of titles': () => fill('part a b c d e f g h\n\n', 18 * mebibyte),
  'spaces at ends of lines': () => fill(`a${' '.repeat(5_000)}b\n`, 18 * mebibyte),
  'a line of spaces': () => `a${fill(' ')}b`,
};

const epubs: Readonly<Record<string, () => Uint8Array>> = {
  '100 000 entries in the spine': () =>
    epub({
      'OEBPS/content.opf': opf({
        items: Array.from({ length: 100_000 }, (_, n) => `c${n}=${(n % 3) + 1}.xhtml`),
        manifest: navItem,
      }),
    }),
  '60 000 entries in the spine, of files that are missing': () =>
    epub({
      'OEBPS/content.opf': opf({
        items: Array.from({ length: 60_000 }, (_, n) => `c${n}=missing${n}.xhtml`).concat('c1=1.xhtml'),
        manifest: navItem,
      }),
    }),
  '100 000 entries in the contents': () =>
    epub({ 'OEBPS/nav.xhtml': nav(Array.from({ length: 100_000 }, (_, n) => [`${n}`, `${(n % 3) + 1}.xhtml`])) }),
  'contents 490 deep': () =>
    epub({
      'OEBPS/nav.xhtml': page(
        `<nav epub:type="toc">${nested('<ol><li><a href="1.xhtml">a</a>', '</li></ol>', 490)}</nav>`,
      ),
    }),
  '30 000 entries with one below each': () =>
    epub({ 'OEBPS/nav.xhtml': nav(Array.from({ length: 30_000 }, (_, n) => [`${n}`, '1.xhtml', [['b', '2.xhtml']]])) }),
  '19 000 documents and contents': () =>
    writeEpub({
      ...meta,
      'OEBPS/content.opf': opf({
        items: Array.from({ length: 19_000 }, (_, n) => `c${n}=${n}.xhtml`),
        manifest: navItem,
      }),
      'OEBPS/nav.xhtml': nav(
        Array.from({ length: 9_000 }, (_, n) => [`${n}`, `${n}.xhtml`, [[`b${n}`, `${n + 9_000}.xhtml`]]]),
      ),
      ...Object.fromEntries(
        Array.from({ length: 19_000 }, (_, n) => [`OEBPS/${n}.xhtml`, page(`<p>${prose(n, 1)}</p>`)]),
      ),
    }),
  '40 000 authors and roles': () =>
    epub({
      'OEBPS/content.opf': opf({
        items: ['c1=1.xhtml'],
        metadata: each(
          40_000,
          (n) => `<dc:creator id="a${n}">a</dc:creator><meta refines="#b" property="role">aut</meta>`,
        ),
      }),
    }),
  'an NCX of 60 000 entries': () => {
    const { 'OEBPS/nav.xhtml': _, ...rest } = good;
    return writeEpub({
      ...rest,
      'OEBPS/content.opf': opf({ items: ['c1=1.xhtml', '*ncx=toc.ncx'], spine: 'toc="ncx"' }),
      'OEBPS/toc.ncx': ncx(Array.from({ length: 40_000 }, (_, n) => [`${n}`, '1.xhtml'])),
    });
  },
  'a label of 5 MB below 300 others': () =>
    epub({
      'OEBPS/nav.xhtml': page(
        `<nav epub:type="toc">${nested('<ol><li><p>', '</p></li></ol>', 300).replace('deep', `<a href="1.xhtml">${fill('a ', 5 * mebibyte)}</a>`)}</nav>`,
      ),
    }),
  'six chapters of 30 MB of newlines': () =>
    epub({
      'OEBPS/content.opf': opf({
        items: ofItems(1).concat(Array.from({ length: 6 }, (_, n) => `x${n}=x${n}.xhtml`)),
        manifest: navItem,
      }),
      ...Object.fromEntries(
        Array.from({ length: 6 }, (_, n) => [
          `OEBPS/x${n}.xhtml`,
          { content: Buffer.from(page(fill('\n'))), isStored: true },
        ]),
      ),
    }),
  'a chapter of tags': () =>
    epub({ 'OEBPS/1.xhtml': { content: Buffer.from(page(`${fill('<p>a</p>', 18 * mebibyte)}`)), isStored: true } }),
  'a chapter of empty elements': () =>
    epub({ 'OEBPS/1.xhtml': { content: Buffer.from(page(`${fill('<i/>')}`)), isStored: true } }),
  'a chapter that packs to nothing': () => epub({ 'OEBPS/2.xhtml': Buffer.alloc(30 * mebibyte, 0x61) }),
  '190 small chapters that pack to nothing': () =>
    writeEpub({
      ...meta,
      'OEBPS/content.opf': opf({ items: Array.from({ length: 190 }, (_, n) => `c${n}=${n}.xhtml`) }),
      ...Object.fromEntries(
        Array.from({ length: 190 }, (_, n) => [
          `OEBPS/${n}.xhtml`,
          Buffer.from(page(`<p>${' '.repeat(mebibyte - 500)}a</p>`)),
        ]),
      ),
    }),
  'a package of 30 MB': () =>
    epub({
      'OEBPS/content.opf': {
        content: Buffer.from(`${opf({ items: ['c1=1.xhtml'] })}${fill('<!-- -->')}`),
        isStored: true,
      },
    }),
};

export interface HostileBook {
  name: string;
  type: string;
  bytes(): Uint8Array;
}

const textBooks = (type: string, texts: Readonly<Record<string, () => string>>): HostileBook[] =>
  Object.entries(texts).map(([name, text]) => ({ name, type, bytes: () => Buffer.from(text()) }));

export const hostileBooks: readonly HostileBook[] = [
  ...textBooks('text/markdown', markdown),
  ...textBooks('text/html', html),
  ...textBooks('text/plain', plain),
  ...Object.entries(epubs).map(([name, bytes]) => ({ name, type: 'application/epub+zip', bytes })),
];
