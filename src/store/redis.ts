// Connects to the Redis or Valkey server that replicas share. If the server does not answer a call within 100 ms, this
// call and all further calls reject with `RedisAway` until a background probe can write again. Every caller therefore
// needs a fallback. Only this file loads ioredis.
import { createHash } from 'node:crypto';
import type { Redis as Client, RedisOptions as ClientOptions } from 'ioredis';
import { reasonOf } from '../runtime/system-errors.ts';

interface RedisScript {
  lua: string;
  sha: string;
}

/** Thrown if Redis does not answer or answers with an error. The `cause` is the error. */
export class RedisAway extends Error {
  constructor(cause: unknown) {
    super('Redis is unavailable', { cause });
    this.name = 'RedisAway';
  }
}

export interface RedisOptions {
  url: string;
  /** The prefix of all keys and channels. */
  prefix: string;
  onAway?(cause: unknown): void;
  onBack?(): void;
  /** How long the server may take to answer. */
  answerMs?: number;
}

const usualAnswerMs = 100;
/** A call waits up to this many times `answerMs` if other answers arrive or this process is busy. */
const turnsMax = 5;
/** A timer that fires this late shows that this process is busy. */
const lateMs = 20;
/** A connection without any answer for this long is replaced. */
const silenceMs = 2_000;
const probeEveryMs = 100;
const reconnectMsMax = 500;
/** How long opening waits for the server before the service starts without it. */
const openMs = 500;

export const toScript = (lua: string): RedisScript => ({ lua, sha: createHash('sha1').update(lua).digest('hex') });

export async function openRedis(options: RedisOptions): Promise<Redis> {
  const redis = new Redis(await connectRedis(options.url), options);
  await redis.open();
  return redis;
}

export class Redis {
  isAway = true;
  /** Number of outages since this object was created. */
  outages = 0;
  readonly #client: Client;
  readonly #options: RedisOptions;
  readonly #withTimeout: <T>(answer: Promise<T>) => Promise<T>;
  readonly #onBack: (() => void)[] = [];
  #listener: Client | undefined;
  #isClosed = false;
  #cause: unknown = new Error('not connected yet');
  /** Scripts that are being loaded, by hash. */
  readonly #loading = new Map<string, Promise<unknown>>();

  constructor(client: Client, options: RedisOptions) {
    this.#client = client;
    this.#options = options;
    this.#withTimeout = createTimeout(options.answerMs ?? usualAnswerMs);
    client.on('error', (error) => {
      this.#cause = error;
    });
    // A closed connection counts as an outage: the server may have lost its data, which `onBack` callbacks write again.
    client.on('close', () => this.#goAway(new Error('the connection was closed')));
  }

  async open(): Promise<void> {
    const { onAway, onBack } = this.#options;
    const opened = this.#comeBack();
    await Promise.race([opened, new Promise((resolve) => setTimeout(resolve, openMs).unref())]);
    if (this.isAway) {
      this.outages++;
      onAway?.(this.#cause);
    }
    if (onBack) this.onBack(onBack);
  }

  /** Returns the result of the script. The script may have run even if the call rejects. */
  async run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (this.isAway) throw new RedisAway(this.#cause);
    try {
      return await this.#withTimeout(this.#evaluate(script, keys, args));
    } catch (error) {
      this.#goAway(error);
      throw new RedisAway(error);
    }
  }

  /** Receives messages published on the channel, except while the connection is down. */
  listen(channel: string, receive: (message: string) => void): void {
    this.#listener ??= this.#openListener();
    this.#listener.on('message', (from, message) => {
      if (from === channel) receive(message);
    });
    this.#listener.subscribe(channel).catch(() => {});
  }

  /** Calls `callback` when the server is reachable again, before any other call is sent. */
  onBack(callback: () => void): void {
    this.#onBack.push(callback);
  }

  close(): void {
    this.#isClosed = true;
    this.#client.disconnect();
    this.#listener?.disconnect();
  }

  #openListener(): Client {
    const client = this.#client.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: null });
    client.on('error', () => {});
    return client;
  }

  #goAway(error: unknown): void {
    if (this.isAway || this.#isClosed) return;
    this.isAway = true;
    this.outages++;
    this.#cause = error;
    this.#options.onAway?.(error);
    void this.#comeBack();
  }

  /** Probes with a write, because a server that answers but cannot write is of no use. */
  async #comeBack(): Promise<void> {
    while (!this.#isClosed) {
      const isWritten = await this.#client
        .set(`${this.#options.prefix}tried`, '1', 'PX', 1_000)
        .then(Boolean, (error) => {
          if (this.#client.status === 'ready') this.#cause = error;
          return false;
        });
      if (isWritten) break;
      await this.#pause();
    }
    if (this.#isClosed) return;
    this.isAway = false;
    for (const callback of this.#onBack) callback();
  }

  /** Waits until the client is ready or the next probe is due. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#client.off('ready', end);
        resolve();
      };
      const timer = setTimeout(end, probeEveryMs).unref();
      this.#client.once('ready', end);
    });
  }

  async #evaluate(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const evalsha = () => this.#client.evalsha(script.sha, keys.length, ...keys, ...args);
    try {
      return await evalsha();
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      await this.#load(script);
      return evalsha();
    }
  }

  /** Loads a script once for all calls that found the script missing. */
  #load({ lua, sha }: RedisScript): Promise<unknown> {
    const loading = this.#loading.get(sha);
    if (loading) return loading;
    const loaded = this.#client.script('LOAD', lua).finally(() => this.#loading.delete(sha));
    this.#loading.set(sha, loaded);
    return loaded;
  }
}

async function connectRedis(url: string, more: ClientOptions = {}): Promise<Client> {
  const { Redis: Connection } = await import('ioredis').catch((error) => {
    throw new Error('SONANT_REDIS_URL needs a package that is not installed; install it with "npm install ioredis"', {
      cause: error,
    });
  });
  const options: ClientOptions & { replyMapping: 'legacy' } = {
    // A command that cannot be sent now is never sent, because its caller has already used a fallback.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 500,
    socketTimeout: silenceMs,
    disconnectTimeout: usualAnswerMs,
    retryStrategy: (times) => Math.min(50 * times, reconnectMsMax),
    connectionName: 'sonant',
    ...toAddress(new URL(url)),
    ...more,
    replyMapping: 'legacy',
  };
  return new Connection(options);
}

function toAddress({ protocol, hostname, port, pathname, username, password, searchParams }: URL): ClientOptions {
  const user = { ...(username && { username: decodeURIComponent(username) }) };
  const login = password === '' ? {} : { ...user, password: decodeURIComponent(password) };
  if (protocol === 'unix:') {
    return { ...login, path: decodeURIComponent(pathname), db: Number(searchParams.get('db') ?? 0) };
  }
  const host = hostname.replace(/^\[|\]$/g, '');
  const tls = protocol === 'rediss:' && { tls: { servername: host } };
  return { ...login, ...tls, host, port: Number(port || 6379), db: Number(pathname.slice(1) || 0) };
}

/** Rejects if an answer is late, unless this process is busy or other answers arrive. */
function createTimeout(answerMs: number) {
  let answers = 0;
  return <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout;
      let isOver = false;
      const wait = (turn: number) => {
        const before = answers;
        const dueMs = performance.now() + answerMs;
        const check = () => {
          if (isOver) return;
          const isSilent = answers === before && performance.now() - dueMs < lateMs;
          if (isSilent || turn === turnsMax) reject(new Error(`no answer in ${turn * answerMs} ms`));
          else wait(turn + 1);
        };
        timer = setTimeout(() => setImmediate(check), answerMs);
      };
      wait(1);
      const end = () => {
        answers++;
        isOver = true;
        clearTimeout(timer);
      };
      answer.finally(end).then(resolve, reject);
    });
}

interface RedisFinding {
  state: 'ready' | 'absent' | 'broken';
  message: string;
}

const connectMs = 2_000;

export async function inspectRedis(url: string, prefix: string): Promise<RedisFinding> {
  if (url === '')
    return { state: 'absent', message: 'not configured; not needed for one process, which counts limits in memory' };
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
    return { state: 'broken', message: `cannot be used: ${reasonOf(cause ?? error)}` };
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
    : `${server}, which can evict limits when memory is short: set maxmemory-policy to noeviction instead of ${policy}`;
}
