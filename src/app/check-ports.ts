// Checks the addresses for HTTP, gRPC and the operator before anything is opened: that no two are set to the same port, which the second of
// them would report as taken by another program, and that no other program listens there.
import { createServer, isIPv4, isIPv6 } from 'node:net';
import { type Config, ConfigError, type ConfigMistake } from '../config.ts';
import type { Address } from '../setting.ts';

const portMax = 65_535;

type Listening = readonly (readonly [name: string, address: Address])[];

/** Throws a ConfigError that names all settings of which one of these is true. */
export async function checkPorts(config: Config, isSinglePort: boolean): Promise<void> {
  const { httpAddr, grpcAddr, adminAddr } = config;
  const listeners: (readonly [string, Address])[] = [['SONANT_HTTP_ADDR', httpAddr]];
  if (!isSinglePort) listeners.push(['SONANT_GRPC_ADDR', grpcAddr]);
  if (adminAddr !== '') listeners.push(['SONANT_ADMIN_ADDR', adminAddr]);
  const sourceOf = (wanted: string) => config.inForce.find(({ setting }) => setting.name === wanted)!.source;
  const mistakeOf = ([name, address]: Listening[number], allowed: string): ConfigMistake => ({
    name,
    given: String(address),
    source: sourceOf(name),
    allowed,
  });
  const shared = listeners.flatMap((each, i) => {
    const [name, address] = each;
    const [other] = listeners.slice(0, i).find(([, earlier]) => collide(earlier, address)) ?? [];
    const orShare = name === 'SONANT_GRPC_ADDR' ? '; sonant serve --single-port serves HTTP and gRPC on one' : '';
    return other ? mistakeOf(each, `${other} is set to the same port${orShare}`) : [];
  });
  if (shared.length > 0) throw new ConfigError(shared);
  const taken: (typeof listeners)[number][] = [];
  // One after another, so that one probe does not find the port of the other taken.
  for (const each of listeners) if (await isTaken(each[1])) taken.push(each);
  const used = new Set(listeners.map(([, { port }]) => port));
  const mistakes = taken.map((each) => {
    const choose = `choose another, such as ${each[0]}=${nextOf(each[1], used)}`;
    return mistakeOf(each, `another program listens there already, perhaps a Sonant that runs; ${choose}`);
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}

/** Whether another program listens there. What else keeps us from listening is told by the listener itself. */
function isTaken({ host, port }: Address): Promise<boolean> {
  if (port === 0) return Promise.resolve(false);
  const server = createServer((socket) => void socket.destroy());
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE'));
    server.listen(port, host, () => void server.close(() => resolve(false)));
  });
}

/** The address with the next port that is not used, and is from then on. */
function nextOf(address: Address, used: Set<number>): string {
  const step = address.port + used.size < portMax ? 1 : -1;
  let port = address.port + step;
  while (used.has(port)) port += step;
  used.add(port);
  return String(address).replace(/\d+$/, String(port));
}

/** An address that stands for all of the machine collides with each of them. */
function collide(a: Address, b: Address): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const isAll = (host: string) => host === '0.0.0.0' || host === '::';
  const areOneFamily = !(isIPv4(a.host) && isIPv6(b.host)) && !(isIPv6(a.host) && isIPv4(b.host));
  return a.host === b.host || a.host === '::' || b.host === '::' || ((isAll(a.host) || isAll(b.host)) && areOneFamily);
}
