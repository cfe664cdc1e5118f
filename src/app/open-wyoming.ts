// Opens the Wyoming listener where the settings ask for it, and finds settings that would let strangers speak.
import type { Runner } from '../api/runner.ts';
import type { ConnectionOptions } from '../compat/wyoming/connection.ts';
import { openWyomingServer, type WyomingServer } from '../compat/wyoming/wyoming-server.ts';
import { isLoopbackHost } from '../net/loopback.ts';
import type { Log } from '../telemetry/log.ts';
import { asConfigError, type Config, type ConfigMistake, mistakeIn } from './config.ts';

export interface WyomingParts {
  config: Config;
  log: Log;
  onFault(fault: unknown): void;
  runner: Runner;
  operations: Pick<ConnectionOptions, 'live' | 'voices'>;
}

export function wyomingMistakes(config: Config): ConfigMistake[] {
  const { wyomingAddr: address, wyomingKey, wyomingAllow } = config;
  const mistakes: ConfigMistake[] = [];
  if (address === '') return mistakes;
  if (wyomingKey === '')
    mistakes.push(mistakeIn(config, 'SONANT_WYOMING_KEY', 'SONANT_WYOMING_ADDR needs an API key to speak with'));
  if (!isLoopbackHost(address.host) && wyomingAllow.length === 0) {
    const allowed = 'asks for no key: listen on 127.0.0.1, or list those who may connect in SONANT_WYOMING_ALLOW';
    mistakes.push(mistakeIn(config, 'SONANT_WYOMING_ADDR', allowed));
  }
  return mistakes;
}

/** Undefined where it is off. */
export async function openWyoming(parts: WyomingParts): Promise<WyomingServer | undefined> {
  const { config, log, onFault, runner, operations } = parts;
  const { wyomingAddr: address, wyomingKey: key, wyomingAllow: allowed } = config;
  if (address === '') return undefined;
  const onRefused = (from: string) => log.debug('a Wyoming connection was refused', { address: from });
  const { live, voices } = operations;
  return asConfigError(config, 'SONANT_WYOMING_ADDR', () =>
    openWyomingServer({ runner, live, voices, key, address, allowed, onRefused, onFault }),
  );
}
