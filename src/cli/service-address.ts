// Which running service a command talks to, and with which key.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLoopbackUrl } from '../net/loopback.ts';
import { type CommandLine, UsageError } from './command.ts';

/** Without a slash at its end. */
export function parseServiceUrl(given: string): string {
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError(`${given} is not a URL such as http://127.0.0.1:8080`);
  return given.replace(/\/+$/, '');
}

/** The first key of this machine is sent to no other one. */
export async function findServiceKey(
  given: string | undefined,
  url: string,
  { loadConfig }: Pick<CommandLine, 'loadConfig'>,
): Promise<string> {
  const key = given ?? process.env.SONANT_API_KEY;
  if (key) return key;
  if (!isLoopbackUrl(url)) throw new UsageError('give a key: --key KEY or SONANT_API_KEY');
  const file = join(loadConfig().dataDir, 'first-key');
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => {
      throw new UsageError(`give a key: --key KEY or SONANT_API_KEY; there is none in ${file}`);
    },
  );
}
