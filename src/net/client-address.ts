// The address of the client: the remote end of the connection; or behind a proxy, the last address in X-Forwarded-For,
// the only one that the proxy itself has added and that a client cannot forge.
import { isIPv6 } from 'node:net';
import type { NodeRequest } from './request-body.ts';

type Addressed = Pick<NodeRequest, 'headers'> & { socket: { remoteAddress?: string | undefined } | null | undefined };

export function clientAddressOf({ headers, socket }: Addressed, isBehindProxy: boolean): string {
  const forwarded = isBehindProxy ? String(headers['x-forwarded-for'] ?? '') : '';
  return forwarded.split(',').at(-1)!.trim() || (socket?.remoteAddress ?? '');
}

/** What counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.toLowerCase().startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail ? tail.split(':') : [];
  const whole = tail === undefined ? groups : [...groups, ...Array(8 - groups.length - rest.length).fill('0'), ...rest];
  return whole.slice(0, 4).join(':');
}
