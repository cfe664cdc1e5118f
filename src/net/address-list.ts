// Allow lists of client addresses: IPv4 and IPv6 addresses and CIDR blocks ("10.0.0.0/8", RFC 4632 and RFC 4291). An
// IPv4-mapped IPv6 address ("::ffff:10.0.0.1") counts as its IPv4 address.
import { BlockList, isIP } from 'node:net';

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

/** Checks whether an address is in one of the blocks, which must be valid. */
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

/** The addresses that are in both lists; undefined is any address. Of two blocks, one contains the other or they are apart. */
export function commonBlocks(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!one || !other) return one ?? other;
  const within = (blocks: readonly string[], outer: readonly string[]) =>
    blocks.filter((block) => isBlockWithin(block, outer));
  return [...new Set([...within(one, other), ...within(other, one)])];
}

/** Whether one of `blocks` contains the whole block: its first address, and it is not wider. */
export function isBlockWithin(block: string, blocks: readonly string[]): boolean {
  const { address, bits, family } = parseBlock(block)!;
  return blocks.some((text) => {
    const outer = parseBlock(text)!;
    return outer.family === family && outer.bits <= bits && createAddressCheck([text])(address);
  });
}
