// Checks settings that are valid one by one, taken together, before anything is opened. `serve` refuses to start with what is
// found, all of it at once; `doctor` reports it.
import { createServer, isIPv4, isIPv6 } from 'node:net';
import type { Tls } from '../net/listen.ts';
import type { Address } from '../runtime/setting.ts';
import { type Config, ConfigError, type ConfigMistake, mistakeIn } from './config.ts';
import { linkMistakes } from './open-clips.ts';
import { wyomingMistakes } from './open-wyoming.ts';
import { readTls } from './read-tls.ts';
import { missingSecrets } from './shared-secrets.ts';
import { signInMistakes } from './sign-in-options.ts';

const portMax = 65_535;

/** Returns the certificate; a ConfigError names every mistake, the ports that are in use among them. */
export async function checkSettings(config: Config, isSinglePort: boolean): Promise<Tls | undefined> {
  const mistakes = [...settingMistakes(config, isSinglePort), ...(await portsInUse(config, isSinglePort))];
  const tls = await readTls(config).catch((error: ConfigError) => {
    mistakes.push(...error.mistakes);
    return undefined;
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return tls;
}

/** Those that the settings alone show. */
export const settingMistakes = (config: Config, isSinglePort: boolean): ConfigMistake[] => [
  ...sharedPorts(config, isSinglePort),
  ...missingSecrets(config),
  ...linkMistakes(config),
  ...signInMistakes(config),
  ...wyomingMistakes(config),
];

type Listening = readonly [name: string, address: Address];

function listenersOf({ httpAddr, grpcAddr, adminAddr, wyomingAddr }: Config, isSinglePort: boolean): Listening[] {
  const listeners: Listening[] = [['SONANT_HTTP_ADDR', httpAddr]];
  if (!isSinglePort) listeners.push(['SONANT_GRPC_ADDR', grpcAddr]);
  if (adminAddr !== '') listeners.push(['SONANT_ADMIN_ADDR', adminAddr]);
  if (wyomingAddr !== '') listeners.push(['SONANT_WYOMING_ADDR', wyomingAddr]);
  return listeners;
}

/** The second listener of a port would report it as taken by another program. */
function sharedPorts(config: Config, isSinglePort: boolean): ConfigMistake[] {
  const listeners = listenersOf(config, isSinglePort);
  return listeners.flatMap(([name, address], i) => {
    const [other] = listeners.slice(0, i).find(([, earlier]) => collide(earlier, address)) ?? [];
    const orShare = name === 'SONANT_GRPC_ADDR' ? '; sonant serve --single-port serves HTTP and gRPC on one' : '';
    return other ? [mistakeIn(config, name, `${other} is set to the same port${orShare}`)] : [];
  });
}

/** The addresses at which another program listens. */
export async function portsInUse(config: Config, isSinglePort: boolean): Promise<ConfigMistake[]> {
  const listeners = listenersOf(config, isSinglePort);
  const taken: Listening[] = [];
  // One after another, so that one probe does not find the port of the other taken.
  for (const each of listeners) if (await isTaken(each[1])) taken.push(each);
  const used = new Set(listeners.map(([, { port }]) => port));
  return taken.map(([name, address]) => {
    const choose = `choose another, such as ${name}=${nextOf(address, used)}`;
    return mistakeIn(config, name, `another program listens there already, perhaps a Sonant that runs; ${choose}`);
  });
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
