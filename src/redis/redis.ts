// The connection to the Redis or Valkey that replicas share. It never hangs: where the server says nothing for 100 ms, what
// was asked rejects with `RedisAway`, and from then on everything rejects at once, until the server, tried behind their
// backs, takes a write again. So whoever asks must know what to do without. ioredis is loaded here, and only here.
import { createHash } from 'node:crypto';
import type { Redis as Client, RedisOptions as ClientOptions } from 'ioredis';

export interface Redis {
  /** What the script answers. Nothing is said of whether it ran where it rejects. */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Hears what is published there, but for what is published while the connection is away. */
  listen(channel: string, hear: (message: string) => void): void;
  readonly isAway: boolean;
  /** How often it went away since it was opened. */
  readonly outages: number;
  /** Told when it is back, before anybody else is let through. */
  onBack(tell: () => void): void;
  close(): void;
}

export interface RedisScript {
  lua: string;
  sha: string;
}

/** It does not answer, or not with what it was asked for; `cause` says why. */
export class RedisAway extends Error {
  constructor(cause: unknown) {
    super('Redis is away', { cause });
    this.name = 'RedisAway';
  }
}

export interface RedisOptions {
  url: string;
  /** What all names begin with. */
  prefix: string;
  onAway?(cause: unknown): void;
  onBack?(): void;
  /** How long the server may say nothing. */
  answerMs?: number;
}

const answerMsUsual = 100;
/** How many times that, where it does answer but there is much before it in the line, or where we are late ourselves. */
const turnsMax = 5;
/** So late is late. */
const lateMs = 20;
/** Until a connection that says nothing is given up for a new one. */
const silenceMs = 2_000;
const tryEveryMs = 100;
const reconnectMsMax = 500;
/** How long opening waits for a server, before it goes on without. */
const openMs = 500;

export const toScript = (lua: string): RedisScript => ({ lua, sha: createHash('sha1').update(lua).digest('hex') });

export async function openRedis(options: RedisOptions): Promise<Redis> {
  const { url, prefix, onAway, onBack, answerMs = answerMsUsual } = options;
  const client = await connectRedis(url);
  let listener: Client | undefined;
  let isClosed = false;
  let isAway = true;
  let outages = 0;
  let cause: unknown = new Error('not connected yet');
  const backs: (() => void)[] = [];
  client.on('error', (error) => {
    cause = error;
  });

  const leave = (error: unknown) => {
    if (isAway || isClosed) return;
    isAway = true;
    outages++;
    cause = error;
    onAway?.(error);
    void comeBack();
  };
  const pause = () =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        client.off('ready', end);
        resolve();
      };
      const timer = setTimeout(end, tryEveryMs).unref();
      client.once('ready', end);
    });
  /** A write, for one that only answers, or only reads, is of no use. */
  const comeBack = async () => {
    while (!isClosed) {
      const isThere = await client.set(`${prefix}tried`, '1', 'PX', 1_000).then(Boolean, (error) => {
        if (client.status === 'ready') cause = error;
        return false;
      });
      if (isThere) break;
      await pause();
    }
    if (isClosed) return;
    isAway = false;
    for (const tell of backs) tell();
  };

  /** Loaded once for all who find that it is not there. */
  const loading = new Map<string, Promise<unknown>>();
  const load = ({ lua, sha }: RedisScript) => {
    const known = loading.get(sha);
    if (known) return known;
    const loaded = client.script('LOAD', lua).finally(() => loading.delete(sha));
    loading.set(sha, loaded);
    return loaded;
  };
  const evaluate = async (script: RedisScript, keys: readonly string[], args: readonly (string | number)[]) => {
    const evalsha = () => client.evalsha(script.sha, keys.length, ...keys, ...args);
    try {
      return await evalsha();
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      await load(script);
      return evalsha();
    }
  };
  const inTime = createPatience(answerMs);

  // What a server forgets that was away while nobody asked it, it must be told again too.
  client.on('close', () => leave(new Error('the connection was closed')));

  const first = comeBack();
  await Promise.race([first, new Promise((resolve) => setTimeout(resolve, openMs).unref())]);
  if (isAway) {
    outages++;
    onAway?.(cause);
  }
  if (onBack) backs.push(onBack);

  return {
    async run(script, keys, args) {
      if (isAway) throw new RedisAway(cause);
      try {
        return await inTime(evaluate(script, keys, args));
      } catch (error) {
        leave(error);
        throw new RedisAway(error);
      }
    },
    listen(channel, hear) {
      listener ??= client.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: null });
      listener.on('error', () => {});
      listener.on('message', (from, message) => {
        if (from === channel) hear(message);
      });
      listener.subscribe(channel).catch(() => {});
    },
    get isAway() {
      return isAway;
    },
    get outages() {
      return outages;
    },
    onBack: (tell) => void backs.push(tell),
    close() {
      isClosed = true;
      client.disconnect();
      listener?.disconnect();
    },
  };
}

export async function connectRedis(url: string, more: ClientOptions = {}): Promise<Client> {
  const { Redis: Connection } = await import('ioredis').catch((error) => {
    throw new Error('SONANT_REDIS_URL needs a package that is not installed here; "npm install ioredis" brings it', {
      cause: error,
    });
  });
  const options: ClientOptions & { replyMapping: 'legacy' } = {
    // What cannot be asked now is not asked later: by then somebody else has decided.
    ...{ enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 },
    ...{ connectTimeout: 500, socketTimeout: silenceMs, disconnectTimeout: answerMsUsual },
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

/** Rejects what is not answered in time. What has come meanwhile counts, even where nobody here had time to look at it. */
function createPatience(answerMs: number) {
  let answers = 0;
  return <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout;
      let isOver = false;
      const wait = (turn: number) => {
        const before = answers;
        const dueMs = performance.now() + answerMs;
        const look = () => {
          if (isOver) return;
          const isSilent = answers === before && performance.now() - dueMs < lateMs;
          if (isSilent || turn === turnsMax) reject(new Error(`no answer in ${turn * answerMs} ms`));
          else wait(turn + 1);
        };
        timer = setTimeout(() => setImmediate(look), answerMs);
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
