// Provides an EPUB 3 with three chapters and a table of contents, whose parts are reused in other test books.
import { chapterPage, container, type Entry, type Files, nav, opf } from './epub-writer.ts';

export const three = {
  'OEBPS/1.xhtml': chapterPage(1),
  'OEBPS/2.xhtml': chapterPage(2),
  'OEBPS/3.xhtml': chapterPage(3),
};
export const threeItems = ['c1=1.xhtml', 'c2=2.xhtml', 'c3=3.xhtml'];
export const threeEntries: readonly Entry[] = [
  ['Chapter 1', '1.xhtml'],
  ['Chapter 2', '2.xhtml'],
  ['Chapter 3', '3.xhtml'],
];
export const navItem = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>';
export const meta = { 'META-INF/container.xml': container() };
/** An EPUB 3 with three chapters; other books are variations of it. */
export const good: Files = {
  ...meta,
  'OEBPS/content.opf': opf({ items: threeItems, manifest: navItem }),
  'OEBPS/nav.xhtml': nav(threeEntries),
  ...three,
};
