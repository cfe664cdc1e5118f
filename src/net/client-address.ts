// Where a request comes from: the other end of its connection; or, where a proxy stands in front, the address that the
// proxy has put last into X-Forwarded-For, for what stands before it may be anybody's invention.
import type { NodeRequest } from './request-body.ts';

export function clientAddressOf({ headers, socket }: NodeRequest, isBehindProxy: boolean): string {
  const told = isBehindProxy
    ? String(headers['x-forwarded-for'] ?? '')
        .split(',')
        .at(-1)!
        .trim()
    : '';
  return told || (socket?.remoteAddress ?? '');
}
