// The meaning of a document's elements for speech: blocks, skipped elements, notes and parts.
import type { BookPart } from './book.ts';
import { partOfRoles } from './part-names.ts';

type Attributes = Readonly<Record<string, string>>;

const setOf = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/));

export const blockTags = setOf(`
  address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5
  h6 header hgroup hr html li main nav ol p pre section summary table tbody tfoot thead tr ul caption dialog
`);

const unreadTags = setOf(`
  head script style template noscript object embed iframe audio video canvas map select textarea button input datalist svg
  math rt rp rtc del s title
`);

const furnitureOfPages = setOf('nav footer aside form menu dialog');

const rolesOf = (attributes: Attributes): string => `${attributes['epub:type'] ?? ''} ${attributes.role ?? ''}`.trim();
const hasRole = (attributes: Attributes, pattern: RegExp): boolean => pattern.test(rolesOf(attributes));

export function headingLevelOf(name: string, { role, 'aria-level': level }: Attributes): number {
  if (/^h[1-6]$/.test(name)) return Number(name[1]);
  if (role !== 'heading') return 0;
  return /^[1-6]$/.test(level ?? '') ? Number(level) : 2;
}

/** Whether this is a formula with alternative text. XHTML may prefix the tag name. */
export const statesFormula = (name: string, { alttext }: Attributes): boolean =>
  /^(?:[\w-]+:)?math$/.test(name) && alttext !== undefined && alttext.trim() !== '';

const pageNumberClass = /(?:^|\s)(?:page-?num(?:ber)?s?|pageno|pgnum|x-ebookmaker-pageno|page-?break-?number)(?:\s|$)/i;

/** Whether the element is not read aloud, for example because it is invisible. */
export function isHidden(name: string, attributes: Attributes): boolean {
  if (unreadTags.has(name) && !statesFormula(name, attributes)) return true;
  if (attributes.hidden !== undefined || attributes['aria-hidden'] === 'true') return true;
  if (/(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(attributes.style ?? '')) return true;
  if (hasRole(attributes, /(?:^|\s)(?:doc-)?(?:pagebreak|page-list|backlink)(?:\s|$)/)) return true;
  return pageNumberClass.test(attributes.class ?? '');
}

interface PagePlace {
  isPage: boolean;
  isInMain: boolean;
}

/** Whether the element is navigation or, on a web page, lies outside the main content. */
export function isPageFurniture(name: string, attributes: Attributes, { isPage, isInMain }: PagePlace): boolean {
  if (name === 'nav' || attributes.role === 'navigation') return true;
  if (!isPage || isNoteBox(name, attributes)) return false;
  if (/^(?:banner|contentinfo|complementary|search|dialog)$/.test(attributes.role ?? '')) return true;
  return furnitureOfPages.has(name) || (name === 'header' && !isInMain && !attributes.id);
}

export const isMainTag = (name: string, { role }: Attributes): boolean =>
  name === 'main' || name === 'article' || role === 'main' || role === 'article';

const noteClass = /(?:^|\s)(?:footnotes?|endnotes?|rearnotes?|fnote)(?:\s|$)/i;

/** Whether the element contains notes, which are moved out of the text. */
export const isNoteBox = (name: string, attributes: Attributes): boolean =>
  name !== 'a' &&
  name !== 'sup' &&
  (hasRole(attributes, /(?:^|\s)(?:doc-)?(?:footnotes?|endnotes?|rearnotes?)(?:\s|$)/) ||
    (name !== 'span' && noteClass.test(attributes.class ?? '')));

/** Whether a link is marked as a reference to a note. */
export const statesNoteReference = (attributes: Attributes): boolean =>
  hasRole(attributes, /(?:^|\s)(?:doc-)?noteref(?:\s|$)/) ||
  /(?:^|\s)(?:noteref|footnote-?ref|fnanchor|fnref)(?:\s|$)/i.test(attributes.class ?? '');

const boilerplateParts: Readonly<Record<string, BookPart>> = { 'pg-header': 'front', 'pg-footer': 'back' };

/** The part of the book that an element states, by its role or by Project Gutenberg's ids. */
export function partOfAttributes(name: string, attributes: Attributes): BookPart | undefined {
  const own = boilerplateParts[attributes.id ?? ''];
  if (own) return own;
  if (name === 'a' || name === 'span' || name === 'sup') return undefined;
  const roles = rolesOf(attributes);
  return roles === '' ? undefined : partOfRoles(roles);
}
