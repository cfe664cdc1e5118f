// Provides EPUBs as they occur in practice, well-formed or not: each with its name and its files.
import { chapterPage, type Entry, type Files, nav, ncx, opf, page, pngOf, prose } from './epub-writer.ts';
import { good, meta, navItem, three, threeEntries, threeItems } from './good-epub.ts';
import { hostileEpubs } from './hostile-epubs.ts';

const long = (bytes: number) => {
  const paragraphs: string[] = [];
  for (let length = 0, n = 0; length < bytes; n++)
    length += paragraphs[paragraphs.push(`<p>${prose(n)}</p>`) - 1]!.length;
  return paragraphs.join('');
};

const sections = (chapter: number, count: number, path = `${chapter}.xhtml`): Entry[] =>
  Array.from({ length: count }, (_, n) => [`Of things ${chapter}${n}`, `${path}#s${chapter}${n}`]);
const sectionsText = (chapter: number, count: number, sentences = 6): string =>
  Array.from(
    { length: count },
    (_, n) => `<h2 id="s${chapter}${n}">Of things ${chapter}${n}</h2><p>${prose(chapter * 10 + n, sentences)}</p>`,
  ).join('');

export const epubShapes: readonly (readonly [shape: string, files: () => Files])[] = [
  ['EPUB 3 with a nav', () => good],
  [
    'EPUB 2 with an NCX and a guide',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({
        version: '2.0',
        items: [
          'cover=cover.xhtml',
          'title=title.xhtml',
          ...threeItems,
          'notes=notes.xhtml',
          '*ncx=toc.ncx',
          '*img=cover.png',
        ],
        metadata: '<meta name="cover" content="img"/><dc:publisher>Own Press</dc:publisher>',
        spine: 'toc="ncx"',
        guide:
          '<reference type="cover" href="cover.xhtml"/><reference type="title-page" href="title.xhtml"/><reference type="text" href="1.xhtml"/>',
      }),
      'OEBPS/toc.ncx': ncx([...threeEntries, ['Notes', 'notes.xhtml']]),
      'OEBPS/cover.xhtml': page('<img src="cover.png" alt="Cover"/>'),
      'OEBPS/title.xhtml': page('<h1>The Lighthouse Ledger</h1><p>by Mara Quill</p>'),
      'OEBPS/notes.xhtml': page(`<h2>Notes</h2><p>1. ${prose(90)}</p>`),
      'OEBPS/cover.png': pngOf(),
      ...three,
    }),
  ],
  [
    'no spine: the order of the contents',
    () => ({
      ...good,
      'OEBPS/content.opf': opf({
        items: ['c3=3.xhtml', 'c1=1.xhtml', 'c2=2.xhtml'],
        manifest: navItem,
        hasSpine: false,
      }),
    }),
  ],
  [
    'a spine in another order than the contents',
    () => ({
      ...good,
      'OEBPS/content.opf': opf({ items: threeItems, manifest: navItem }),
      'OEBPS/nav.xhtml': nav(threeEntries.toReversed()),
    }),
  ],
  [
    'nested contents: parts, chapters, sections',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: ['a=a.xhtml', 'b=b.xhtml'], manifest: navItem }),
      'OEBPS/nav.xhtml': nav([
        [
          'Part One',
          'a.xhtml',
          [
            ['Chapter 1', 'a.xhtml#c1', [['A section', 'a.xhtml#s1']]],
            ['Chapter 2', 'a.xhtml#c2'],
          ],
        ],
        [
          'Part Two',
          'b.xhtml',
          [
            ['Chapter 3', 'b.xhtml#c3'],
            ['Chapter 4', 'b.xhtml#c4'],
          ],
        ],
      ]),
      'OEBPS/a.xhtml': page(
        `<h1>Part One</h1><h2 id="c1">Chapter 1</h2><p>${prose(1, 12)}</p><h3 id="s1">A section</h3><p>${prose(2)}</p><h2 id="c2">Chapter 2</h2><p>${prose(3)}</p>`,
      ),
      'OEBPS/b.xhtml': page(
        `<h1>Part Two</h1><h2 id="c3">Chapter 3</h2><p>${prose(4)}</p><h2 id="c4">Chapter 4</h2><p>${prose(5)}</p>`,
      ),
    }),
  ],
  [
    'a manual: chapters with sections, each chapter one document',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: ['i=0.xhtml', ...threeItems], manifest: navItem }),
      'OEBPS/nav.xhtml': nav([
        ['The Lighthouse Manual', '0.xhtml'],
        ['About the lamp', '1.xhtml', sections(1, 4)],
        ['Lighting it', '2.xhtml', sections(2, 2)],
        ['Oil', '3.xhtml', sections(3, 3)],
      ]),
      'OEBPS/0.xhtml': page(`<h1>The Lighthouse Manual</h1><ul><li>About the lamp</li><li>Lighting it</li></ul>`),
      'OEBPS/1.xhtml': page(`<h1>About the lamp</h1>${sectionsText(1, 4)}`),
      'OEBPS/2.xhtml': page(`<h1>Lighting it</h1><p>${prose(2, 12)}</p>${sectionsText(2, 2)}`),
      'OEBPS/3.xhtml': page(`<h1>Oil</h1><p>${prose(3, 2)}</p>${sectionsText(3, 3)}`),
    }),
  ],
  [
    'parts with long introductions, and chapters that no number names, each one document',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: ['a=a.xhtml', 'b=b.xhtml', 'c=c.xhtml', 'd=d.xhtml'], manifest: navItem }),
      'OEBPS/nav.xhtml': nav([
        ['The Coast', 'a.xhtml', [['Of lamps', 'b.xhtml']]],
        ['The Sea', 'c.xhtml', [['Of tides', 'd.xhtml']]],
      ]),
      'OEBPS/a.xhtml': page(`<h1>The Coast</h1><p>${prose(1, 12)}</p>`),
      'OEBPS/b.xhtml': page(`<h1>Of lamps</h1><p>${prose(2, 12)}</p>`),
      'OEBPS/c.xhtml': page(`<h1>The Sea</h1><p>${prose(3, 12)}</p>`),
      'OEBPS/d.xhtml': page(`<h1>Of tides</h1><p>${prose(4, 12)}</p>`),
    }),
  ],
  [
    'chapters beside and below parts, with sections below chapters',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({
        items: [...threeItems, 'a=a.xhtml', 'c4=4.xhtml', 'b=b.xhtml', 'c5=5.xhtml'],
        manifest: navItem,
      }),
      'OEBPS/nav.xhtml': nav([
        ['The Landing', '1.xhtml', sections(1, 2)],
        ['The Path', '2.xhtml'],
        ['The Hill', '3.xhtml', sections(3, 4)],
        ['The Coast', 'a.xhtml', [['Of lamps', '4.xhtml', sections(4, 2)]]],
        ['The Sea', 'b.xhtml', [['Of tides', '5.xhtml', sections(5, 3)]]],
      ]),
      'OEBPS/1.xhtml': page(`<h1>The Landing</h1><p>${prose(1, 12)}</p>${sectionsText(1, 2)}`),
      'OEBPS/2.xhtml': page(`<h1>The Path</h1><p>${prose(2, 12)}</p>`),
      'OEBPS/3.xhtml': page(`<h1>The Hill</h1>${sectionsText(3, 4)}`),
      'OEBPS/a.xhtml': page('<h1>The Coast</h1>'),
      'OEBPS/4.xhtml': page(`<h1>Of lamps</h1><p>${prose(4, 12)}</p>${sectionsText(4, 2)}`),
      'OEBPS/b.xhtml': page('<h1>The Sea</h1>'),
      'OEBPS/5.xhtml': page(`<h1>Of tides</h1>${sectionsText(5, 3)}`),
    }),
  ],
  [
    'parts of long chapters that no number names, in one document',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: ['all=all.xhtml'], manifest: navItem }),
      'OEBPS/nav.xhtml': nav([
        ['Preface', 'all.xhtml#p'],
        ['The Coast', 'all.xhtml#c', sections(1, 2, 'all.xhtml')],
        ['The Sea', 'all.xhtml#s', sections(2, 2, 'all.xhtml')],
        ['The Return', 'all.xhtml#r'],
      ]),
      'OEBPS/all.xhtml': page(
        `<h1 id="p">Preface</h1><p>${prose(9)}</p><h1 id="c">The Coast</h1>${sectionsText(1, 2, 200)}<h1 id="s">The Sea</h1>${sectionsText(2, 2, 200)}<h1 id="r">The Return</h1><p>${prose(8, 200)}</p>`,
      ),
    }),
  ],
  [
    'the title above all short chapters, several in a document, and a licence',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({
        items: ['a=1.xhtml', 'b=2.xhtml'],
        manifest: '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
        spine: 'toc="ncx"',
      }),
      'OEBPS/toc.ncx': ncx([
        ['The Lighthouse Ledger', '1.xhtml#top', [...sections(1, 3), ...sections(2, 2)]],
        ['The Full Project Gutenberg License', '2.xhtml#pg'],
      ]),
      'OEBPS/1.xhtml': page(`<h1 id="top">The Lighthouse Ledger</h1><p>by Mara Quill</p>${sectionsText(1, 3)}`),
      'OEBPS/2.xhtml': page(
        `${sectionsText(2, 2)}<h2 id="pg">The Full Project Gutenberg License</h2><p>${prose(7)}</p>`,
      ),
    }),
  ],
  [
    'one document, split by the anchors of the contents',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: ['all=all.xhtml'], manifest: navItem }),
      'OEBPS/nav.xhtml': nav([1, 2, 3].map((n): Entry => [`The ${n}. night`, `all.xhtml#n${n}`])),
      'OEBPS/all.xhtml': page(
        [1, 2, 3].map((n) => `<p><a id="n${n}"/></p><p class="t">Night ${n}</p><p>${prose(n, 20)}</p>`).join(''),
      ),
    }),
  ],
  [
    'a chapter over several documents',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: ['a=1.xhtml', 'b=1b.xhtml', 'c=2.xhtml'], manifest: navItem }),
      'OEBPS/nav.xhtml': nav(threeEntries.slice(0, 2)),
      'OEBPS/1.xhtml': chapterPage(1),
      'OEBPS/1b.xhtml': page(`<p>${prose(7)}</p>`),
      'OEBPS/2.xhtml': chapterPage(2),
    }),
  ],
  ['no contents: headings', () => ({ ...meta, 'OEBPS/content.opf': opf({ items: threeItems }), ...three })],
  [
    'no contents, no headings: documents',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: threeItems }),
      ...Object.fromEntries([1, 2, 3].map((n) => [`OEBPS/${n}.xhtml`, page(`<p>${prose(n)}</p>`)])),
    }),
  ],
  [
    'files that are missing',
    () => {
      const { 'OEBPS/2.xhtml': _, ...rest } = good;
      return rest;
    },
  ],
  ['all chapters are missing', () => ({ ...meta, 'OEBPS/content.opf': opf({ items: threeItems }) })],
  [
    'paths percent-encoded, in another case, in another folder',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({
        items: ['c1=Text/first%20one.xhtml', 'c2=TEXT/Second.XHTML', 'c3=wrong/third.xhtml'],
        manifest: navItem,
      }),
      'OEBPS/nav.xhtml': nav([
        ['Chapter 1', 'Text/first%20one.xhtml'],
        ['Chapter 2', 'text/second.xhtml#c2'],
        ['Chapter 3', '../elsewhere/third.xhtml'],
      ]),
      'OEBPS/Text/first one.xhtml': chapterPage(1),
      'OEBPS/text/second.xhtml': chapterPage(2),
      'OEBPS/third.xhtml': chapterPage(3),
    }),
  ],
  [
    'a chapter of 5 MB',
    () => ({
      ...good,
      'OEBPS/2.xhtml': page(`<h2>Chapter 2</h2>${long(5 << 20)}`),
    }),
  ],
  ...hostileEpubs,
  [
    'no container, but a package',
    () => {
      const { 'META-INF/container.xml': _, ...rest } = good;
      return rest;
    },
  ],
  ['a zip that is no EPUB', () => ({ mimetype: 'text/plain', 'word/document.xml': '<w:document/>' })],
  [
    'Windows-1252 that says it is UTF-8',
    () => ({
      ...good,
      'OEBPS/2.xhtml': Buffer.from(page(`<h2>Chapter 2</h2><p>Un caf\xe9 \x93noir\x94 \x97 ${prose(2)}</p>`), 'latin1'),
    }),
  ],
  [
    'UTF-16 and ISO-8859-2, as stated',
    () => ({
      ...good,
      'OEBPS/1.xhtml': Buffer.from(
        `\ufeff${page(`<h2>Chapter 1</h2><p>Žluťoučký. ${prose(1)}</p>`).replace('utf-8', 'utf-16')}`,
        'utf16le',
      ),
      'OEBPS/2.xhtml': Buffer.concat([
        Buffer.from('<?xml version="1.0" encoding="iso-8859-2"?><html><body><h2>Chapter 2</h2><p>'),
        Buffer.from([0xae, 0x6c, 0x75, 0xbb]),
        Buffer.from(`. ${prose(2)}</p></body></html>`),
      ]),
    }),
  ],
  [
    'tag soup',
    () => ({
      ...good,
      'OEBPS/2.xhtml': `<html><body><h2>Chapter 2</H2><p>${prose(2)}<p>Caf&eacute; & bar &nbsp;<b>bold<i>both</b>.</i><br>line<p><img src=x><a name=end>${prose(3)}`,
    }),
  ],
  [
    'footnotes: asides, marks and back links',
    () => ({
      ...good,
      'OEBPS/2.xhtml': page(
        `<h2>Chapter 2</h2><p>The lamp went out<a epub:type="noteref" href="#f1">1</a> at nine.<sup><a href="#f2">2</a></sup> See <a href="3.xhtml">3</a>.<a href="#f3">[3]</a></p>` +
          '<aside epub:type="footnote" id="f1"><p>It was an oil lamp. <a href="#r1">↩</a></p></aside><div class="footnote" id="f2"><p>Or ten.</p></div><section epub:type="footnotes"><ol><li epub:type="footnote" id="f3"><p>A third note.</p></li></ol></section>',
      ),
    }),
  ],
  [
    'front matter, back matter and notes by epub:type',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({
        items: [
          't=title.xhtml',
          'r=rights.xhtml',
          'd=ded.xhtml',
          ...threeItems,
          'n=notes.xhtml',
          'x=index.xhtml',
          '-a=also.xhtml',
        ],
        manifest: navItem,
      }),
      'OEBPS/nav.xhtml': nav(threeEntries, [['bodymatter', '1.xhtml']]),
      'OEBPS/title.xhtml': page('<h1>The Lighthouse Ledger</h1><p>Mara Quill</p>', 'epub:type="titlepage"'),
      'OEBPS/rights.xhtml': page('<p>Nobody reserves any rights.</p>', 'epub:type="frontmatter copyright-page"'),
      'OEBPS/ded.xhtml': page('<p>For the keepers.</p>', 'epub:type="frontmatter dedication"'),
      'OEBPS/notes.xhtml': page(`<h2>Endnotes</h2><p>${prose(60)}</p>`, 'epub:type="endnotes"'),
      'OEBPS/index.xhtml': page('<h2>Index</h2><p>lamp, 1</p>', 'epub:type="backmatter index"'),
      'OEBPS/also.xhtml': page('<p>An answer that a link opens.</p>'),
      ...three,
    }),
  ],
  [
    'empty documents and titles alone',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({
        items: ['e=empty.xhtml', 'p=part.xhtml', ...threeItems, 'f=fin.xhtml'],
        manifest: navItem,
      }),
      'OEBPS/nav.xhtml': nav([
        ['Cover', 'empty.xhtml'],
        ['Part One', 'part.xhtml'],
        ...threeEntries,
        ['The End', 'fin.xhtml'],
      ]),
      'OEBPS/empty.xhtml': page('<svg xmlns="http://www.w3.org/2000/svg"><text>no</text></svg>'),
      'OEBPS/part.xhtml': page('<h1>Part One</h1>'),
      'OEBPS/fin.xhtml': page('<h1>The End</h1>'),
      ...three,
    }),
  ],
  [
    'chapters that are numbers with a name below',
    () => ({
      ...meta,
      'OEBPS/content.opf': opf({ items: ['all=all.xhtml'] }),
      'OEBPS/all.xhtml': page(
        ['I', 'II', 'III'].map((n, at) => `<h2>${n}</h2><h3>The ${things[at]}</h3><p>${prose(at)}</p>`).join(''),
      ),
    }),
  ],
  [
    'drop caps, page numbers, ruby, verse, a table and code',
    () => ({
      ...good,
      'OEBPS/2.xhtml': page(
        '<h2>Chapter 2</h2><p><span class="dropcap">T</span>he keeper<span epub:type="pagebreak" id="p7">7</span> read 漢<ruby>字<rt>かん</rt></ruby>.</p><p>One line<br/>and another</p><hr/><table><tr><th>Day</th><th>Oil</th></tr><tr><td>1</td><td>2 l</td></tr></table><pre><code>x = 1</code></pre><p hidden="">unseen</p>',
      ),
    }),
  ],
  [
    'a description in markup, two authors and a series',
    () => ({
      ...good,
      'OEBPS/content.opf': opf({
        items: threeItems,
        manifest: navItem,
        metadata:
          '<dc:creator opf:role="ill">A. Painter</dc:creator><dc:creator opf:role="aut">Otto Reed</dc:creator><dc:description>&lt;p&gt;A &lt;b&gt;tale&lt;/b&gt;.&lt;/p&gt;</dc:description><meta name="calibre:series" content="Coasts"/>',
      }),
    }),
  ],
  [
    'elements nested ten thousand deep',
    () => ({ ...good, 'OEBPS/2.xhtml': page(`${'<div>'.repeat(10_000)}deep${'</div>'.repeat(10_000)}`) }),
  ],
  ['contents that lead to one place only', () => ({ ...good, 'OEBPS/nav.xhtml': nav([['Start', '1.xhtml']]) })],
];

const things = ['Lamp', 'Ledger', 'Harbour'];
