// Reads the package of an EPUB 2 or 3: its metadata, its files, and their reading order
// (https://www.w3.org/TR/epub-33/#sec-package-doc).
import { cutText } from '../../platform/count-chars.ts';
import type { BookMetadata } from './book.ts';
import { BookFault, metadataCharsMax } from './book.ts';
import { toTitle } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { type BookArchive, type EpubReference, resolveReference, showPath } from './epub-archive.ts';
import { findAll, findFirst, type MarkupElement, parseMarkup, textIn } from './markup-tree.ts';

export interface EpubItem {
  id: string;
  /** The path stated in the package. The archive finds the actual file. */
  path: string;
  mediaType: string;
  properties: string;
}

export interface EpubPackage {
  title: string;
  author: string;
  language: string;
  metadata: BookMetadata;
  items: readonly EpubItem[];
  /** The reading order; empty if none is stated. */
  spine: readonly { item: EpubItem; isLinear: boolean }[];
  ncx: EpubItem | undefined;
  nav: EpubItem | undefined;
  coverId: string;
  /** Parts of the book, with the type names of EPUB 2. */
  guide: readonly (EpubReference & { type: string })[];
}

export async function readPackage(archive: BookArchive): Promise<EpubPackage> {
  const path = await findPackage(archive);
  const root = parseMarkup(decodeText(await archive.read(path)), 'xml');
  const items = findAll(root, 'item').flatMap((element) => toItem(path, element));
  const byId = new Map(items.map((item) => [item.id, item]));
  const spine = findFirst(root, 'spine');
  const ordered = new Map<EpubItem, boolean>();
  for (const { attributes } of findAll(spine ?? root, 'itemref')) {
    const item = byId.get(attributes.idref ?? '');
    if (item && !ordered.has(item)) ordered.set(item, attributes.linear?.toLowerCase() !== 'no');
  }
  const isNcx = ({ mediaType }: EpubItem) => mediaType === 'application/x-dtbncx+xml';
  const guide = findFirst(root, 'guide');
  return {
    ...readMetadata(findFirst(root, 'metadata') ?? root),
    items,
    spine: Array.from(ordered, ([item, isLinear]) => ({ item, isLinear })),
    ncx: byId.get(spine?.attributes.toc ?? '') ?? items.find(isNcx) ?? items.find((item) => /\.ncx$/i.test(item.path)),
    nav: items.find(({ properties }) => /(?:^|\s)nav(?:\s|$)/.test(properties)),
    coverId: metaOf(root, 'cover'),
    guide: (guide ? findAll(guide, 'reference') : []).flatMap(({ attributes }) => {
      const to = resolveReference(path, attributes.href ?? '');
      return to ? [{ ...to, type: attributes.type ?? '' }] : [];
    }),
  };
}

/** The package that the container names, or else the only package in the archive. */
async function findPackage(archive: BookArchive): Promise<string> {
  const container = archive.find('META-INF/container.xml');
  if (container !== undefined) {
    const root = parseMarkup(decodeText(await archive.read(container)), 'xml');
    for (const { attributes } of findAll(root, 'rootfile')) {
      const found = archive.find(attributes['full-path'] ?? '');
      if (found !== undefined) return found;
    }
  }
  const found = archive.paths.find((path) => /\.opf$/i.test(path));
  if (found !== undefined) return found;
  const mimetype = archive.find('mimetype');
  const isEpub = mimetype !== undefined && (await archive.read(mimetype)).toString('latin1', 0, 40).includes('epub');
  if (container === undefined && !isEpub)
    throw new BookFault('format', 'is a zip archive but not an EPUB: it has no META-INF/container.xml');
  throw new BookFault('damaged', 'is damaged: its package document (.opf) is missing');
}

function toItem(from: string, { attributes }: MarkupElement): EpubItem[] {
  const to = resolveReference(from, attributes.href ?? '');
  if (!to || !attributes.href) return [];
  const { id = '', 'media-type': mediaType = '', properties = '' } = attributes;
  return [{ id, path: to.path, mediaType: mediaType.toLowerCase().trim(), properties }];
}

const metaOf = (root: MarkupElement, name: string): string =>
  findAll(root, 'meta').find(({ attributes }) => attributes.name === name)?.attributes.content ?? '';

function readMetadata(root: MarkupElement): Pick<EpubPackage, 'title' | 'author' | 'language' | 'metadata'> {
  const all = (name: string) => findAll(root, name);
  const first = (name: string) => textIn(all(name).find((element) => textIn(element) !== ''));
  const creators = all('creator').filter((creator) => textIn(creator) !== '');
  const roles = refinedRoles(root);
  const authors = creators.filter(({ attributes }) =>
    /^(|aut)$/.test(statedRole(attributes) ?? roles.get(`#${attributes.id}`) ?? ''),
  );
  const metadata: BookMetadata = {};
  for (const name of ['publisher', 'date', 'description', 'identifier', 'rights'] as const) {
    const value = cutText(withoutTags(first(name)), metadataCharsMax);
    if (value !== '') metadata[name] = value;
  }
  const series = metaOf(root, 'calibre:series') || propertyOf(root, 'belongs-to-collection');
  if (series) metadata.series = toTitle(series);
  return {
    title: toTitle(first('title')),
    author: toTitle((authors.length > 0 ? authors : creators).map(textIn).join(', ')),
    language: first('language'),
    metadata,
  };
}

/** The role of a creator or contributor in EPUB 2. */
const statedRole = (attributes: MarkupElement['attributes']): string | undefined =>
  attributes['opf:role'] ?? attributes.role;

/** Roles in EPUB 3, by the id of the element that has the role. */
function refinedRoles(root: MarkupElement): ReadonlyMap<string, string> {
  const roles = new Map<string, string>();
  for (const meta of findAll(root, 'meta')) {
    const { property, refines } = meta.attributes;
    if (property === 'role' && refines && !roles.has(refines)) roles.set(refines, textIn(meta));
  }
  return roles;
}

const propertyOf = (root: MarkupElement, property: string): string =>
  textIn(findAll(root, 'meta').find(({ attributes }) => attributes.property === property));

/** Removes tags, because a description often contains escaped markup. */
const withoutTags = (text: string): string =>
  text
    .replace(/<[^>]{0,200}>/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ (?=[.,;:!?])/g, '')
    .trim();

export const missingFile = (path: string): string => `${showPath(path)} is missing from the book.`;
