// Checks client addresses against IPv4 and IPv6 addresses and CIDR blocks ("10.0.0.0/8", RFC 4632 and RFC 4291). An
// IPv4-mapped IPv6 address ("::ffff:10.0.0.1") counts as its IPv4 address.
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

interface Block {
  address: string;
  bits: number;
  family: 'ipv4' | 'ipv6';
}

function parseBlock(text: string): Block | undefined {
  const [, address = '', bits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const bitsMax = version === 4 ? 32 : 128;
  const width = bits === undefined ? bitsMax : Number(bits);
  return width <= bitsMax ? { address, bits: width, family: version === 4 ? 'ipv4' : 'ipv6' } : undefined;
}

export const isAddressBlock = (text: string): boolean => parseBlock(text) !== undefined;

const unmapped = (address: string) => (/^::ffff:\d+\./i.test(address) ? address.slice(7) : address);

/** Returns a function that checks whether an address is in one of the blocks, which must be valid. */
export function createAddressCheck(blocks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of blocks) {
    const { address, bits, family } = parseBlock(text)!;
    list.addSubnet(address, bits, family);
  }
  return (address) => {
    const plain = unmapped(address);
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  };
}

/** Returns the intersection of two lists; undefined means any address. Two blocks are either nested or disjoint. */
export function commonBlocks(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!one || !other) return one ?? other;
  const within = (blocks: readonly string[], outer: readonly string[]) =>
    blocks.filter((block) => isBlockWithin(block, outer));
  return [...new Set([...within(one, other), ...within(other, one)])];
}

/** Whether one of `blocks` contains all of `block`. Such a block contains its first address and is at least as wide. */
export function isBlockWithin(block: string, blocks: readonly string[]): boolean {
  const { address, bits, family } = parseBlock(block)!;
  return blocks.some((text) => {
    const outer = parseBlock(text)!;
    return outer.family === family && outer.bits <= bits && createAddressCheck([text])(address);
  });
}

interface Addressed {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined } | null | undefined;
}

export function clientAddressOf({ headers, socket }: Addressed, isBehindProxy: boolean): string {
  const forwarded = isBehindProxy ? String(headers['x-forwarded-for'] ?? '') : '';
  return forwarded.split(',').at(-1)!.trim() || (socket?.remoteAddress ?? '');
}

/** Returns the unit that counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.toLowerCase().startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail ? tail.split(':') : [];
  const whole = tail === undefined ? groups : [...groups, ...Array(8 - groups.length - rest.length).fill('0'), ...rest];
  return whole.slice(0, 4).join(':');
}

export const loopbackBlocks: readonly string[] = ['127.0.0.0/8', '::1'];

const isLoopbackAddress = createAddressCheck(loopbackBlocks);

/** `host` is a name or an address without brackets. */
export const isLoopbackHost = (host: string): boolean => host === 'localhost' || isLoopbackAddress(host);

/** Whether the host of the URL is this machine. Any scheme is accepted. False if the text is not a URL. */
export const isLoopbackUrl = (url: string): boolean =>
  URL.canParse(url) && isLoopbackHost(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));

const isSpecial = createAddressCheck([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Special parts of 2000::/3, the block of the public addresses.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
]);
const isGlobalUnicast = createAddressCheck(['2000::/3']);

export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && !isSpecial(address) && (version === 4 || isGlobalUnicast(address));
}
