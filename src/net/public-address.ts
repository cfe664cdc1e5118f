// Whether an address is one of the public internet: neither of this machine, nor of a network inside, nor one that stands for
// another. The blocks are those of IANA's registries of special addresses (RFC 6890) that are not global, and those of IPv6
// that carry an IPv4 address, which a gateway would take for it: IPv4-mapped, NAT64 (RFC 6052, RFC 8215), 6to4 and Teredo.
import { isIP } from 'node:net';
import { createAddressCheck } from './address-list.ts';

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
  // Of 2000::/3, in which the addresses of the internet are.
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
