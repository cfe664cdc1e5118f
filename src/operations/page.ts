// Pages of a list. A page token is the id of the last item before the page, so that items which come and go meanwhile
// make no page skip or repeat another.
import type { FieldViolation } from '../errors.ts';
import { pageSizeDefault, pageSizeMax } from './limits.ts';

export interface Page {
  size: number;
  /** The id of the last item before it; undefined for the first page. */
  after: string | undefined;
}

const tokenMark = 'after:';

/** The page that is asked for; adds what is wrong with it to the faults. */
export function parsePage(
  { pageSize = pageSizeDefault, pageToken }: { pageSize?: number | undefined; pageToken: string },
  faults: FieldViolation[],
): Page {
  if (pageSize < 1 || pageSize > pageSizeMax)
    faults.push({ field: 'page_size', reason: 'range', message: `must be 1 to ${pageSizeMax}` });
  const after = pageToken === '' ? undefined : fromToken(pageToken);
  if (pageToken !== '' && after === undefined) {
    const message = 'must be the next_page_token of an earlier page';
    faults.push({ field: 'page_token', reason: 'format', message });
  }
  return { size: pageSize, after };
}

/** For the page behind that item. */
export const toPageToken = (id: string) => Buffer.from(tokenMark + id).toString('base64url');

function fromToken(token: string): string | undefined {
  const text = Buffer.from(token, 'base64url').toString();
  const id = text.slice(tokenMark.length);
  return toPageToken(id) === token ? id : undefined;
}
