// Allowed targets of requests to URLs that others state: webhooks, redirects of model downloads, and the endpoints of an
// issuer. Allowed are public addresses over https, and targets that the operator names. A name is resolved once per
// attempt and all its addresses are checked. The connection uses a checked address, so a later change of the name's DNS
// records has no effect.
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { createAddressCheck, isAddressBlock, isPublicAddress } from './client-addresses.ts';

/** Resolves a name to all its addresses. */
type Resolve = (host: string) => Promise<readonly string[]>;

export type OutboundTargets = ReturnType<typeof createOutboundTargets>;

export class ForbiddenTarget extends Error {}

export interface TargetOptions {
  /** Host names, addresses and blocks besides public addresses. */
  allow: readonly string[];
  /** Where the operator lists them, for the message. */
  allowedIn: string;
  urlCharsMax?: number | undefined;
  resolve?: Resolve | undefined;
  /** Resolves names that the operator allows. They may be in this machine's hosts file. */
  resolveAllowed?: Resolve | undefined;
}

const resolveMs = 4_000;
/** Enough for the signed URLs of stores. */
const urlCharsMaxUsual = 8_000;

export function createOutboundTargets(options: TargetOptions) {
  const { allow, allowedIn, urlCharsMax = urlCharsMaxUsual } = options;
  const { resolve = resolveByDns, resolveAllowed = resolveBySystem } = options;
  const notPublic = `leads to an address that is neither public nor ${allowedIn}`;
  const blocks = allow.filter(isAddressBlock);
  const hosts = new Set(allow.filter((item) => !isAddressBlock(item)));
  const isAllowed = createAddressCheck(blocks);
  const isAllowedHost = (host: string) => hosts.has(host.replace(/\.$/, ''));

  return {
    /** Reason why a URL is forbidden, regardless of its addresses; undefined if the URL may be allowed. */
    faultOf(given: string): string | undefined {
      const url = given.length <= urlCharsMax ? URL.parse(given) : null;
      if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '')
        return `must be an https URL of at most ${urlCharsMax} characters`;
      if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password';
      const host = hostOf(url);
      const isOwn = isAllowedHost(host) || isAllowed(host);
      if (isIP(host) !== 0 && !isOwn && !isPublicAddress(host)) return notPublic;
      // A name has not been resolved yet, so it may lead to an allowed address block.
      const mayBeOwn = isOwn || (isIP(host) === 0 && blocks.length > 0);
      return url.protocol === 'https:' || mayBeOwn ? undefined : 'must begin with https:';
    },
    /**
     * The addresses to connect to. Throws `ForbiddenTarget` if an address is not allowed, and another error if the name
     * does not resolve.
     */
    async addressesOf(url: URL): Promise<readonly string[]> {
      const host = hostOf(url);
      const isOwn = isAllowedHost(host);
      const addresses = isIP(host) !== 0 ? [host] : await (isOwn ? resolveAllowed : resolve)(host);
      if (addresses.length === 0) throw new Error(`${host} has no address`);
      const isPlain = url.protocol !== 'https:';
      for (const address of addresses) {
        if (isOwn || isAllowed(address)) continue;
        if (!isPublicAddress(address)) throw new ForbiddenTarget(`${host} ${notPublic}`);
        if (isPlain) throw new ForbiddenTarget(`${host} needs an https: URL`);
      }
      return addresses;
    },
  };
}

/** The URL's host without IPv6 brackets. The URL parser has already normalized addresses. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** Avoids the system's resolver, because slow names would block its few threads, which also read files. */
async function resolveByDns(host: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: resolveMs, tries: 2 });
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  const [first] = found;
  if (addresses.length === 0 && first.status === 'rejected') throw first.reason;
  return addresses;
}

const resolveBySystem: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Resolves every name to these addresses. */
export const lookupTo =
  (find: () => Promise<readonly string[]>): LookupFunction =>
  (_, { all }, done) => {
    find().then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all) done(null, found);
        else done(null, found[0]!.address, found[0]!.family);
      },
      (error) => done(error, ''),
    );
  };
