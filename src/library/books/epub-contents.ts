// Reads the table of contents of an EPUB and the starts of its parts: the `nav` of EPUB 3, or the NCX of EPUB 2
// (https://www.w3.org/TR/epub-33/#sec-nav, https://daisy.org/activities/standards/daisy/).
import { toTitle } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { type BookArchive, type EpubReference, resolveReference } from './epub-archive.ts';
import type { EpubPackage } from './epub-package.ts';
import { findAll, findFirst, type MarkupElement, parseMarkup, textIn } from './markup-tree.ts';

export interface ContentsEntry {
  title: string;
  /** Target of the entry; undefined if the entry is only a heading for other entries. */
  to: EpubReference | undefined;
  children: readonly ContentsEntry[];
}

export interface EpubContents {
  entries: readonly ContentsEntry[];
  landmarks: readonly (EpubReference & { type: string })[];
}

export async function readContents(archive: BookArchive, { nav, ncx, guide }: EpubPackage): Promise<EpubContents> {
  const [navPath, ncxPath] = [nav, ncx].map((item) => (item ? archive.find(item.path) : undefined));
  const read = async (path: string, kind: 'xml' | 'xhtml') => parseMarkup(decodeText(await archive.read(path)), kind);
  const ofNav = navPath === undefined ? undefined : readNav(await read(navPath, 'xhtml'), navPath);
  if (ofNav && ofNav.entries.length > 0) return { ...ofNav, landmarks: [...ofNav.landmarks, ...guide] };
  const map = ncxPath === undefined ? undefined : findFirst(await read(ncxPath, 'xml'), 'navmap');
  return {
    entries: map && ncxPath !== undefined ? readPoints(map, ncxPath) : [],
    landmarks: [...(ofNav?.landmarks ?? []), ...guide],
  };
}

function readNav(root: MarkupElement, path: string): EpubContents {
  const navs = findAll(root, 'nav');
  const typeOf = ({ attributes }: MarkupElement) => attributes['epub:type'] ?? attributes.role ?? '';
  const toc =
    navs.find((nav) => /(?:^|\s)(?:doc-)?toc(?:\s|$)/.test(typeOf(nav))) ?? navs.find((nav) => typeOf(nav) === '');
  const marks = navs.find((nav) => /(?:^|\s)landmarks(?:\s|$)/.test(typeOf(nav)));
  const landmarks = (marks ? findAll(marks, 'a') : []).flatMap(({ attributes }) => {
    const to = resolveReference(path, attributes.href ?? '');
    return to ? [{ ...to, type: attributes['epub:type'] ?? '' }] : [];
  });
  const list = toc && findFirst(toc, 'ol');
  return { entries: list ? readList(list, path) : [], landmarks };
}

const readList = (list: MarkupElement, path: string): ContentsEntry[] =>
  list.children
    .filter(({ name }) => name === 'li')
    .map((item) => {
      const label = item.children.find(({ name }) => name === 'a' || name === 'span') ?? findOutside(item);
      const link = label && (label.name === 'a' ? label : findFirst(label, 'a'));
      const below = item.children.find(({ name }) => name === 'ol');
      return {
        title: toTitle(textIn(label)),
        to: link?.attributes.href ? resolveReference(path, link.attributes.href) : undefined,
        children: below ? readList(below, path) : [],
      };
    });

/** Finds an item's link inside another element, such as a paragraph, but not inside the item's sublist. */
const findOutside = (item: MarkupElement): MarkupElement | undefined =>
  item.children
    .filter(({ name }) => name !== 'ol')
    .map((child) => findFirst(child, 'a'))
    .find((link) => link !== undefined);

const readPoints = (map: MarkupElement, path: string): ContentsEntry[] =>
  map.children
    .filter(({ name }) => name === 'navpoint')
    .map((point) => {
      const source = point.children.find(({ name }) => name === 'content')?.attributes.src;
      return {
        title: toTitle(textIn(point.children.find(({ name }) => name === 'navlabel'))),
        to: source ? resolveReference(path, source) : undefined,
        children: readPoints(point, path),
      };
    });
