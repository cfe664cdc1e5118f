// Whether something is on this machine: a host, an address or a URL. Without TLS, secrets go nowhere else.
import { createAddressCheck } from './address-list.ts';

export const loopbackBlocks: readonly string[] = ['127.0.0.0/8', '::1'];

const isLoopbackAddress = createAddressCheck(loopbackBlocks);

/** A name or an address, without brackets. */
export const isLoopbackHost = (host: string): boolean => host === 'localhost' || isLoopbackAddress(host);

/** Of any scheme; false for what is no URL. */
export const isLoopbackUrl = (url: string): boolean =>
  URL.canParse(url) && isLoopbackHost(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
