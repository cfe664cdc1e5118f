// Checks that no two listeners are set to the same port, which the second of them would report as taken by another program.
import { isIPv4, isIPv6 } from 'node:net';
import { type Config, ConfigError, type ConfigMistake } from '../config.ts';
import type { Address } from '../setting.ts';

/** Throws a ConfigError that names the settings of each such pair. */
export function checkPorts(config: Config, isSinglePort: boolean): void {
  const { httpAddr, grpcAddr, adminAddr } = config;
  const listeners: (readonly [string, Address])[] = [['SONANT_HTTP_ADDR', httpAddr]];
  if (!isSinglePort) listeners.push(['SONANT_GRPC_ADDR', grpcAddr]);
  if (adminAddr !== '') listeners.push(['SONANT_ADMIN_ADDR', adminAddr]);
  const mistakes = listeners.flatMap(([name, address], i): ConfigMistake[] => {
    const [other] = listeners.slice(0, i).find(([, earlier]) => collide(earlier, address)) ?? [];
    if (!other) return [];
    const { source } = config.inForce.find(({ setting }) => setting.name === name)!;
    const orShare = name === 'SONANT_GRPC_ADDR' ? '; sonant serve --single-port serves HTTP and gRPC on one' : '';
    return [{ name, given: String(address), source, allowed: `${other} is set to the same port${orShare}` }];
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}

/** An address that stands for all of the machine collides with each of them. */
function collide(a: Address, b: Address): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const isAll = (host: string) => host === '0.0.0.0' || host === '::';
  const areOneFamily = !(isIPv4(a.host) && isIPv6(b.host)) && !(isIPv6(a.host) && isIPv4(b.host));
  return a.host === b.host || a.host === '::' || b.host === '::' || ((isAll(a.host) || isAll(b.host)) && areOneFamily);
}
