// The TLS that both doors speak, read and tried out; and who gets the blame where what a setting asks for cannot be.
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigError } from '../config.ts';

/** Does what a setting asks for; if that cannot be, the setting gets the blame. */
export async function blame<T>({ inForce }: Config, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { value, source } = inForce.find(({ setting }) => setting.name === name)!;
    throw new ConfigError([{ name, given: String(value), source, allowed: (error as Error).message }]);
  }
}

/** The certificate and its key, tried out; undefined without. */
export async function readTls(config: Config): Promise<{ cert: string; key: string } | undefined> {
  const { tlsCert, tlsKey } = config;
  if (tlsCert === '' && tlsKey === '') return undefined;
  const read = (name: string, file: string) =>
    blame(config, name, async () => {
      if (file === '') throw new Error('SONANT_TLS_CERT and SONANT_TLS_KEY go together');
      return readFile(file, 'utf8');
    });
  const tls = { cert: await read('SONANT_TLS_CERT', tlsCert), key: await read('SONANT_TLS_KEY', tlsKey) };
  await blame(config, 'SONANT_TLS_CERT', async () => createSecureContext({ cert: tls.cert }));
  await blame(config, 'SONANT_TLS_KEY', async () => createSecureContext(tls));
  return tls;
}
