// Reads and checks the TLS certificate and key of both listeners.
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { asConfigError, type Config } from './config.ts';

/** Undefined if TLS is not configured. */
export async function readTls(config: Config): Promise<{ cert: string; key: string } | undefined> {
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
