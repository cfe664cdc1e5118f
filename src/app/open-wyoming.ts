// Opens the Wyoming listener where the settings ask for it, and refuses settings that would let strangers speak.
import { asConfigError, type Config } from '../config.ts';
import { isLoopbackHost } from '../net/loopback.ts';
import type { Runner } from '../operations/runner.ts';
import { parseAddress } from '../setting.ts';
import type { Log } from '../telemetry/log.ts';
import type { ConnectionOptions } from '../wyoming/connection.ts';
import { openWyomingServer, type WyomingServer } from '../wyoming/wyoming-server.ts';

export interface WyomingParts {
  config: Config;
  log: Log;
  onFault(fault: unknown): void;
  runner: Runner;
  operations: Pick<ConnectionOptions, 'live' | 'voices'>;
}

/** Undefined where it is off. */
export async function openWyoming(parts: WyomingParts): Promise<WyomingServer | undefined> {
  const { config, log, onFault, runner, operations } = parts;
  const { wyomingAddr, wyomingKey: key, wyomingAllow: allowed } = config;
  if (wyomingAddr === '') return undefined;
  const address = parseAddress(wyomingAddr)!;
  await asConfigError(config, 'SONANT_WYOMING_KEY', async () => {
    if (key === '') throw new Error('SONANT_WYOMING_ADDR needs an API key to speak with');
  });
  return asConfigError(config, 'SONANT_WYOMING_ADDR', async () => {
    if (!isLoopbackHost(address.host) && allowed.length === 0)
      throw new Error('asks for no key: listen on 127.0.0.1, or list those who may connect in SONANT_WYOMING_ALLOW');
    const onRefused = (from: string) => log.debug('a Wyoming connection was refused', { address: from });
    const { live, voices } = operations;
    return openWyomingServer({ runner, live, voices, key, address, allowed, onRefused, onFault });
  });
}
