// Pages of a list. A cursor holds the position of the last item of the previous page, so that added or deleted items
// cause no gaps and no duplicates. A cursor is valid only for its list and filters.
import { createHash } from 'node:crypto';
import type { Violations } from '../contract.ts';
import { cursorCharsMax, pageSizeDefault } from './call-limits.ts';

export interface Page {
  size: number;
  /** Position of the last item of the previous page; undefined for the first page. */
  after: string | undefined;
  /** Prefix of the list's cursors. */
  tokenPrefix: string;
}

interface PageOf<Item> {
  items: readonly Item[];
  /** Cursor of the next page; empty on the last page. */
  nextCursor: string;
}

/** Parses the requested page of a list. `list` is the name of the list and its filters. */
export function pageOf(
  { limit = pageSizeDefault, cursor }: { limit?: number | undefined; cursor: string },
  list: readonly string[],
  violations: Violations,
): Page {
  const tokenPrefix = createHash('sha256').update(JSON.stringify(list)).digest('base64url').slice(0, prefixChars);
  const isReadable = cursor !== '' && cursor.length <= cursorCharsMax;
  const after = isReadable ? fromToken(cursor, tokenPrefix) : undefined;
  if (cursor !== '' && after === undefined)
    violations.report('cursor', 'format', 'must be a next_cursor that this list returned for the same filter');
  return { size: limit, after, tokenPrefix };
}

/** Cuts the items to the page size. Adds the cursor of the next page if there are more items. */
export function toPage<Item>(items: readonly Item[], page: Page, positionOf: (item: Item) => string): PageOf<Item> {
  const first = items.slice(0, page.size);
  const hasMore = items.length > page.size;
  return { items: first, nextCursor: hasMore ? toToken(positionOf(first.at(-1)!), page.tokenPrefix) : '' };
}

const prefixChars = 8;
const toToken = (position: string, prefix: string) => Buffer.from(prefix + position).toString('base64url');

function fromToken(token: string, prefix: string): string | undefined {
  const position = Buffer.from(token, 'base64url').toString().slice(prefix.length);
  return toToken(position, prefix) === token ? position : undefined;
}
