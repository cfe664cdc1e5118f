// The addresses of servers. `dns+http://name:port` stands for all addresses of the name, which is resolved again every
// 30 s. The name of a headless Service in Kubernetes resolves to all its pods. If a name cannot be resolved, the
// previous addresses stay.
import { lookup as lookUp } from 'node:dns/promises';
import { isIPv4, isIPv6 } from 'node:net';

/** Resolves a host name to its addresses. */
type Lookup = (name: string) => Promise<readonly string[]>;

export interface AddressOptions {
  urls: readonly string[];
  lookup?: Lookup | undefined;
  everyMs?: number | undefined;
}

const everyMsUsual = 30_000;
/** Largest number of servers, because each has its own series of metrics. */
const addressesMax = 200;

// Uses the system's resolver, which knows search domains and the hosts file.
const lookupUsual: Lookup = async (name) => (await lookUp(name, { all: true })).map(({ address }) => address);

const dnsPrefix = 'dns+';

/** The URLs of all servers; rejects if a name cannot be resolved. */
export async function findAddresses({ urls, lookup = lookupUsual }: AddressOptions): Promise<string[]> {
  const found = await Promise.all(
    urls.map(async (url) => {
      if (!url.startsWith(dnsPrefix)) return [url];
      const found = await lookup(new URL(url.slice(dnsPrefix.length)).hostname);
      // A server with addresses of both families would count twice, so IPv6 is only used if there is no IPv4.
      const ipv4 = found.filter(isIPv4);
      const addresses = ipv4.length > 0 ? ipv4 : found;
      return addresses.slice(0, addressesMax).map((address) => toAddress(url, address));
    }),
  );
  return [...new Set(found.flat())];
}

function toAddress(url: string, address: string): string {
  const at = new URL(url.slice(dnsPrefix.length));
  at.hostname = isIPv6(address) ? `[${address}]` : address;
  return at.href.replace(/\/$/, '');
}

/** Calls `onFound` with the URLs: at once if no name has to be resolved, otherwise each time the names are resolved. */
export function watchAddresses(options: AddressOptions, onFound: (urls: readonly string[]) => void) {
  if (!options.urls.some((url) => url.startsWith(dnsPrefix))) {
    onFound(options.urls);
    return { refresh: async () => {}, close() {} };
  }
  let resolving: Promise<void> | undefined;
  const refresh = (): Promise<void> => {
    resolving ??= findAddresses(options)
      .then((urls) => {
        if (urls.length > 0) onFound(urls);
      })
      .finally(() => {
        resolving = undefined;
      });
    return resolving;
  };
  const timer = setInterval(() => refresh().catch(() => {}), options.everyMs ?? everyMsUsual).unref();
  return {
    /** Resolves the names now. Rejects if that fails. */
    refresh,
    close: () => clearInterval(timer),
  };
}
