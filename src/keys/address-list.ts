// Lists of the addresses that a key may be used from: IPv4 and IPv6, each alone or as a CIDR block ("10.0.0.0/8",
// RFC 4632 and RFC 4291). An IPv4 address that arrives dressed as IPv6 ("::ffff:10.0.0.1") is the IPv4 address.
import { BlockList, isIP } from 'node:net';

interface Block {
  address: string;
  bits: number;
  family: 'ipv4' | 'ipv6';
}

/** The block that the text names, or undefined. */
function parseBlock(text: string): Block | undefined {
  const [, address = '', bits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const bitsMax = version === 4 ? 32 : 128;
  const width = bits === undefined ? bitsMax : Number(bits);
  return width <= bitsMax ? { address, bits: width, family: version === 4 ? 'ipv4' : 'ipv6' } : undefined;
}

export const isAddressBlock = (text: string): boolean => parseBlock(text) !== undefined;

const undressed = (address: string) => (/^::ffff:\d+\./i.test(address) ? address.slice(7) : address);

/** Whether an address is in one of the blocks; all of them must be valid. */
export function createAddressCheck(blocks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of blocks) {
    const { address, bits, family } = parseBlock(text)!;
    list.addSubnet(address, bits, family);
  }
  return (address) => {
    const plain = undressed(address);
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  };
}

/** Whether all of `block` lies within one of `blocks`: its first address does, and it is no wider. */
export function isBlockWithin(block: string, blocks: readonly string[]): boolean {
  const { address, bits, family } = parseBlock(block)!;
  return blocks.some((text) => {
    const outer = parseBlock(text)!;
    return outer.family === family && outer.bits <= bits && createAddressCheck([text])(address);
  });
}
