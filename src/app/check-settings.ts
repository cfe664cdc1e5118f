// Checks addresses, ports, TLS, secrets, links and sign-in settings before anything is opened. `serve` refuses to start
// and prints all mistakes; `doctor` reports them.
import { readFile } from 'node:fs/promises';
import { createServer, isIPv4, isIPv6 } from 'node:net';
import { createSecureContext } from 'node:tls';
import { checkCredentials, linkMistakes } from '../clips.ts';
import { isLoopbackHost } from '../platform/net/client-addresses.ts';
import { asConfigError, ConfigError, type ConfigMistake, mistakeIn } from '../platform/runtime/config-mistakes.ts';
import type { Address } from '../platform/runtime/setting-types.ts';
import type { Tls } from '../transports.ts';
import type { Config } from './config.ts';
import { missingSecrets, signInMistakes } from './secrets.ts';

const portMax = 65_535;

/** Returns the certificate. Throws one ConfigError with all mistakes, including ports in use. */
export async function checkSettings(config: Config, isSinglePort: boolean): Promise<Tls | undefined> {
  const mistakes = [...settingMistakes(config, isSinglePort), ...(await portsInUse(config, isSinglePort))];
  const tls = await readTls(config).catch((error: ConfigError) => {
    mistakes.push(...error.mistakes);
    return undefined;
  });
  await checkCredentials(config).catch((error: ConfigError) => mistakes.push(...error.mistakes));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return tls;
}

/** Mistakes that can be found without opening a port or reading a file. */
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

/** Without this check, the second listener on a port would report that another program uses the port. */
function sharedPorts(config: Config, isSinglePort: boolean): ConfigMistake[] {
  const listeners = listenersOf(config, isSinglePort);
  return listeners.flatMap(([name, address], i) => {
    const [other] = listeners.slice(0, i).find(([, earlier]) => collide(earlier, address)) ?? [];
    const orShare = name === 'SONANT_GRPC_ADDR' ? '; sonant serve --single-port serves HTTP and gRPC on one port' : '';
    return other ? [mistakeIn(config, name, `${other} is set to the same port${orShare}`)] : [];
  });
}

/** Addresses at which another program listens. */
export async function portsInUse(config: Config, isSinglePort: boolean): Promise<ConfigMistake[]> {
  const listeners = listenersOf(config, isSinglePort);
  const taken: Listening[] = [];
  // Addresses are probed one after another, because concurrent probes would find each other's ports in use.
  for (const each of listeners) if (await isTaken(each[1])) taken.push(each);
  const used = new Set(listeners.map(([, { port }]) => port));
  return taken.map(([name, address]) => {
    const choose = `choose another, such as ${name}=${nextOf(address, used)}`;
    return mistakeIn(config, name, `the port is in use, perhaps by another Sonant; ${choose}`);
  });
}

/** Whether the address is in use. Other errors surface when the listener starts. */
function isTaken({ host, port }: Address): Promise<boolean> {
  if (port === 0) return Promise.resolve(false);
  const server = createServer((socket) => void socket.destroy());
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE'));
    server.listen(port, host, () => void server.close(() => resolve(false)));
  });
}

/** Returns the address with the next unused port, and adds that port to `used`. */
function nextOf(address: Address, used: Set<number>): string {
  const step = address.port + used.size < portMax ? 1 : -1;
  let port = address.port + step;
  while (used.has(port)) port += step;
  used.add(port);
  return String(address).replace(/\d+$/, String(port));
}

/** Whether the addresses collide. A wildcard address collides with every address of its family. */
function collide(a: Address, b: Address): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const isAll = (host: string) => host === '0.0.0.0' || host === '::';
  const areOneFamily = !(isIPv4(a.host) && isIPv6(b.host)) && !(isIPv6(a.host) && isIPv4(b.host));
  return a.host === b.host || a.host === '::' || b.host === '::' || ((isAll(a.host) || isAll(b.host)) && areOneFamily);
}

/** Mistakes in the Wyoming settings. The protocol has no authentication, so all clients use the operator's key. */
function wyomingMistakes(config: Config): ConfigMistake[] {
  const { wyomingAddr: address, wyomingKey, wyomingAllow } = config;
  const mistakes: ConfigMistake[] = [];
  if (address === '') return mistakes;
  if (wyomingKey === '')
    mistakes.push(mistakeIn(config, 'SONANT_WYOMING_KEY', 'must be an API key, because SONANT_WYOMING_ADDR is set'));
  if (!isLoopbackHost(address.host) && wyomingAllow.length === 0) {
    const allowed =
      'accepts clients without a key: listen on 127.0.0.1, or list the allowed addresses in SONANT_WYOMING_ALLOW';
    mistakes.push(mistakeIn(config, 'SONANT_WYOMING_ADDR', allowed));
  }
  return mistakes;
}

/** Reads and checks the certificate and key. Returns undefined if TLS is not configured. */
export async function readTls(config: Config): Promise<Tls | undefined> {
  const { tlsCert, tlsKey } = config;
  if (tlsCert === '' && tlsKey === '') return undefined;
  const read = (name: string, file: string) =>
    asConfigError(config, name, async () => {
      if (file === '') throw new Error('SONANT_TLS_CERT and SONANT_TLS_KEY must be set together');
      return readFile(file, 'utf8');
    });
  const tls = { cert: await read('SONANT_TLS_CERT', tlsCert), key: await read('SONANT_TLS_KEY', tlsKey) };
  await asConfigError(config, 'SONANT_TLS_CERT', async () => createSecureContext({ cert: tls.cert }));
  await asConfigError(config, 'SONANT_TLS_KEY', async () => createSecureContext(tls));
  return tls;
}
