// Pages of a list. A page token holds the position of the last item before the page, such as its id, so that items which
// are added or deleted meanwhile cause no gaps and no duplicates.
import type { FieldViolation } from '../errors.ts';
import { pageSizeDefault, pageSizeMax, pageTokenCharsMax } from './limits.ts';

export interface Page {
  size: number;
  /** The position of the last item before it; undefined for the first page. */
  after: string | undefined;
}

export interface PageOf<Item> {
  items: readonly Item[];
  /** Empty on the last page. */
  nextPageToken: string;
}

/** The names of the page fields in an API. */
export interface PageNames {
  size: string;
  token: string;
  next: string;
}

const tokenPrefix = 'after:';

/** The requested page; violations are added to those found before. */
export function parsePage(
  { pageSize = pageSizeDefault, pageToken }: { pageSize?: number | undefined; pageToken: string },
  names: PageNames,
  violations: FieldViolation[],
): Page {
  if (pageSize < 1 || pageSize > pageSizeMax)
    violations.push({ field: names.size, reason: 'range', message: `must be 1 to ${pageSizeMax}` });
  const isReadable = pageToken !== '' && pageToken.length <= pageTokenCharsMax;
  const after = isReadable ? fromToken(pageToken) : undefined;
  if (pageToken !== '' && after === undefined)
    violations.push({ field: names.token, reason: 'format', message: `must be the ${names.next} of an earlier page` });
  return { size: pageSize, after };
}

/** The first `size` of the items, with the token of the page behind them, if there are more. */
export function toPage<Item>(items: readonly Item[], size: number, positionOf: (item: Item) => string): PageOf<Item> {
  const page = items.slice(0, size);
  return { items: page, nextPageToken: items.length > size ? toPageToken(positionOf(page.at(-1)!)) : '' };
}

const toPageToken = (position: string) => Buffer.from(tokenPrefix + position).toString('base64url');

function fromToken(token: string): string | undefined {
  const text = Buffer.from(token, 'base64url').toString();
  const position = text.slice(tokenPrefix.length);
  return toPageToken(position) === token ? position : undefined;
}
