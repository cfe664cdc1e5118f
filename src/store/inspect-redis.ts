// Checks for `sonant doctor` whether the configured Redis or Valkey answers and runs scripts.
import { connectRedis } from './redis.ts';

export interface RedisFinding {
  state: 'ready' | 'absent' | 'broken';
  message: string;
}

const connectMs = 2_000;

export async function inspectRedis(url: string, prefix: string): Promise<RedisFinding> {
  if (url === '')
    return { state: 'absent', message: 'not configured; fine for one process, which counts limits in memory' };
  let cause: Error | undefined;
  const client = await connectRedis(url, { retryStrategy: () => null }).catch((error: Error) => {
    cause = error;
  });
  if (!client) return { state: 'broken', message: cause!.message };
  client.on('error', (error) => {
    cause = error;
  });
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer in ${connectMs} ms`)), connectMs);
      const over = () => clearTimeout(timer);
      client.once('ready', () => resolve(over()));
      client.once('end', () => reject(over() ?? cause ?? new Error('the connection was closed')));
    });
    const startMs = performance.now();
    await client.eval("return redis.call('SET', KEYS[1], '1', 'PX', 1000)", 1, `${prefix}tried`);
    const tookMs = performance.now() - startMs;
    return { state: 'ready', message: `${describe(await client.info())}, answers in ${tookMs.toFixed(1)} ms` };
  } catch (error) {
    return { state: 'broken', message: `cannot be used: ${((cause ?? error) as Error).message}` };
  } finally {
    client.disconnect();
  }
}

function describe(info: string): string {
  const fact = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const policy = fact('maxmemory_policy') ?? 'noeviction';
  const server = fact('valkey_version') ? `Valkey ${fact('valkey_version')}` : `Redis ${fact('redis_version')}`;
  return policy === 'noeviction'
    ? server
    : `${server}, which forgets limits when memory is short: set maxmemory-policy to noeviction, not ${policy}`;
}
