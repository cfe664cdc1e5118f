// The address of the client: the remote end of the connection; or behind a proxy, the last address in X-Forwarded-For,
// the only one that the proxy itself has added and that a client cannot forge.
import type { NodeRequest } from './request-body.ts';

export function clientAddressOf({ headers, socket }: NodeRequest, isBehindProxy: boolean): string {
  const forwarded = isBehindProxy ? String(headers['x-forwarded-for'] ?? '') : '';
  return forwarded.split(',').at(-1)!.trim() || (socket?.remoteAddress ?? '');
}
