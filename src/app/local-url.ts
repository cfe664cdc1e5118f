// Where clients on this machine reach the service.
import { isIPv6 } from 'node:net';

/** The URL of a listener on this machine; one on all addresses is reached through localhost. */
export function localUrl(host: string, port: number, isSecure: boolean): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}
