// Streams text from the replica that has a resource to a replica that needs it, through a Redis Stream. The reader
// creates the stream, renews its expiry and deletes entries as it reads them. The writer waits while 16 entries are
// unread and stops when the stream is gone. A reader that gets no entry for 5 s fails, because the writer or Redis is
// down. Each replica offers its resources again after a Redis outage.
//     SET     prefix:relay:has:RESOURCE  REPLICA   for a day, or until withdrawn
//     PUBLISH prefix:relay:REPLICA       {"relay":2,"id":"ID","question":"..."}
//     XADD    prefix:relay:ID            "head" TEXT, "line" TEXT ..., then "end", or "cut" REASON; "beat" each second
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, failureTable, type Reason, toFailure } from '../errors.ts';
import { type Redis, RedisAway, toScript } from './redis.ts';

export interface Answer {
  head: string;
  /** Lines of the stream. Iteration throws if the stream is cut off. */
  lines: AsyncIterable<string>;
  /** Call when the reader has disconnected. */
  leave(): void;
}

interface RedisRelayOptions {
  redis: Pick<Redis, 'run' | 'listen' | 'connect' | 'onBack' | 'hasAnsweredFor'>;
  /** A connection to the same server that is used more often, and therefore detects an outage earlier. */
  busier?: Pick<Redis, 'hasAnsweredFor'>;
  prefix: string;
  /** Called with errors from the function passed to `serve`. */
  onFault(fault: unknown): void;
  /** How long a question waits for its answer. */
  askMs?: number;
}

const usualAskMs = 1_000;
/** Maximum number of questions that wait for an answer. Further questions are rejected. */
const asksMax = 64;
const unreadMax = 16;
/** How long the writer waits before it tries again if the stream is full. */
const roomMs = 50;
const beatMs = 1_000;
const silenceMs = 5_000;
/** How long a stream outlives a reader that died or stalled. */
const streamMs = 15_000;
/** How long an offer outlives a replica that died. */
const offerMs = 24 * 3_600_000;
/** Time in which every replica connects, subscribes and offers its resources again after an outage. */
const settledMs = 3_000;
const version = 2;

const set = toScript("return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])");
const get = toScript("return redis.call('GET', KEYS[1])");
const del = toScript("return redis.call('DEL', KEYS[1])");
/** Creates an empty stream and publishes the question. Returns the number of replicas that received it. */
const publish = toScript(`redis.call('XADD', KEYS[1], 'MAXLEN', 0, '*', 'created', '')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('PUBLISH', ARGV[2], ARGV[3])`);
const append = toScript(`if redis.call('EXISTS', KEYS[1]) == 0 then return 'gone' end
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 'full' end
return redis.call('XADD', KEYS[1], '*', ARGV[2], ARGV[3])`);

type Entry = readonly [kind: string, text: string];

/** Thrown if the reader has deleted its stream or let the stream expire. */
class ReaderGone extends Error {}

export type Relay = ReturnType<typeof createRedisRelay>;

export function createRedisRelay({ redis, busier, prefix, onFault, askMs = usualAskMs }: RedisRelayOptions) {
  const replica = randomUUID();
  const channelOf = (other: string) => `${prefix}relay:${other}`;
  const resourceKey = (resource: string) => `${prefix}relay:has:${resource}`;
  const streamKey = (id: string) => `${prefix}relay:${id}`;
  let answer: ((question: string) => Promise<Answer>) | undefined;
  let asks = 0;
  const offered = new Set<string>();
  const offer = (resource: string) => void redis.run(set, [resourceKey(resource)], [replica, offerMs]).catch(() => {});
  redis.onBack(() => offered.forEach(offer));
  const isSettled = () => redis.hasAnsweredFor(settledMs) && (busier?.hasAnsweredFor(settledMs) ?? true);

  redis.listen(channelOf(replica), (message) => {
    const { id, question } = parseMessage(message);
    if (!answer || id === undefined || question === undefined) return;
    answer(question)
      .then((answered) => writeAnswer(redis, streamKey(id), answered))
      .catch((fault: unknown) => {
        if (!(fault instanceof ReaderGone || fault instanceof RedisAway)) onFault(fault);
      });
  });

  const askReplica = async (other: string, question: string): Promise<Answer | undefined> => {
    const id = randomUUID();
    const key = streamKey(id);
    const message = JSON.stringify({ relay: version, id, question });
    const receivers = await redis.run(publish, [key], [streamMs, channelOf(other), message]);
    if (receivers !== 0) return readAnswer(redis, key, askMs);
    // Removes the offer of a replica that died without withdrawing its resources.
    redis.run(del, [key], []).catch(() => {});
    return undefined;
  };

  return {
    /** Directs questions about the resource to this replica until the resource is withdrawn. */
    offer(resource: string): void {
      offered.add(resource);
      offer(resource);
    },
    withdraw(resource: string): void {
      offered.delete(resource);
      redis.run(del, [resourceKey(resource)], []).catch(() => {});
    },
    /** Answers the questions of other replicas. If `open` throws, the asking replica gets no answer. */
    serve(open: (question: string) => Promise<Answer>): void {
      answer = open;
    },
    /**
     * Asks the replica that has the resource. Returns undefined if no replica has it. Throws a Failure if the answer
     * cannot be known because of an outage.
     */
    async ask(resource: string, question: string): Promise<Answer | undefined> {
      if (asks >= asksMax) throw new Failure('overloaded');
      asks++;
      try {
        const other = await redis.run(get, [resourceKey(resource)], []);
        const isElsewhere = typeof other === 'string' && other !== replica;
        const answered = isElsewhere ? await askReplica(other, question) : undefined;
        if (!answered && !isSettled()) throw new Failure('storage_unavailable');
        return answered;
      } catch (error) {
        throw error instanceof RedisAway ? new Failure('storage_unavailable', {}, error) : error;
      } finally {
        asks--;
      }
    },
  };
}

async function writeAnswer(redis: Pick<Redis, 'run'>, key: string, { head, lines, leave }: Answer): Promise<void> {
  let lost: unknown;
  const tryWrite = async (kind: string, text: string): Promise<boolean> => {
    if (lost !== undefined) throw lost;
    const written = await redis.run(append, [key], [unreadMax, kind, text]);
    if (written === 'gone') throw new ReaderGone();
    return written !== 'full';
  };
  const write = async (kind: string, text = '') => {
    while (!(await tryWrite(kind, text))) await sleep(roomMs);
  };
  // Shows the reader and the writer that the other side is alive, even if there are no lines.
  const beat = () =>
    tryWrite('beat', '').catch((error: unknown) => {
      clearInterval(timer);
      lost ??= error;
      leave();
    });
  const timer = setInterval(beat, beatMs);
  try {
    await write('head', head);
    for await (const line of lines) await write('line', line);
    await write('end');
  } catch (error) {
    if (error instanceof ReaderGone || error instanceof RedisAway) throw error;
    await write('cut', toFailure(error).reason);
    if (!(error instanceof Failure)) throw error;
  } finally {
    clearInterval(timer);
    leave();
  }
}

async function readAnswer(redis: Pick<Redis, 'run' | 'connect'>, key: string, askMs: number): Promise<Answer> {
  const connection = redis.connect({ silenceMs: silenceMs + askMs });
  let hasLeft = false;
  const leave = () => {
    if (hasLeft) return;
    hasLeft = true;
    connection.close();
    redis.run(del, [key], []).catch(() => {});
  };
  /** Waits for entries and deletes them from the stream. Returns undefined if no entries arrive. */
  const take = async (waitMs: number): Promise<Entry[] | undefined> => {
    const reply = await connection.call('XREAD', 'BLOCK', waitMs, 'STREAMS', key, '0');
    if (reply === null) return undefined;
    const [[, entries]] = reply as [[key: string, entries: [id: string, entry: Entry][]]];
    await connection.call('XDEL', key, ...entries.map(([id]) => id));
    await connection.call('PEXPIRE', key, streamMs);
    return entries.map(([, entry]) => entry);
  };
  async function* readLines(entries: Entry[]): AsyncGenerator<string> {
    try {
      for (let unread: Entry[] | undefined = entries; unread; unread = await take(silenceMs)) {
        for (const [kind, text] of unread) {
          if (kind === 'end') return;
          if (kind === 'cut')
            throw new Failure(toReason(text), { message: 'The replica that serves this stream ended it.' });
          if (kind === 'line') yield text;
        }
      }
      throw new Failure('storage_unavailable', { message: 'The replica that serves this stream has stopped.' });
    } catch (error) {
      if (!hasLeft) throw error instanceof RedisAway ? new Failure('storage_unavailable', {}, error) : error;
    } finally {
      leave();
    }
  }
  try {
    const [head, ...rest] = (await take(askMs)) ?? [];
    if (!head) throw new Failure('overloaded');
    return { head: head[1], lines: readLines(rest), leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Replaces a missing or unknown reason. Older replicas send no reason. */
const toReason = (text: string): Reason =>
  Object.hasOwn(failureTable, text) ? (text as Reason) : 'storage_unavailable';

/** Returns an empty message if the format or the version is different. */
function parseMessage(message: string): { id?: string; question?: string } {
  try {
    const parsed = JSON.parse(message);
    return parsed.relay === version ? parsed : {};
  } catch {
    return {};
  }
}
