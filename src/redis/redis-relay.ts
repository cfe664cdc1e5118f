// Text that flows from the replica that has a thing to the one that is asked for it, through Redis or Valkey. Who has it says
// so, and hears on a channel of its own; who is asked puts a question there, and takes out the lines that answer it:
//
//     SET     prefix:relay:has:THING  REPLICA  for a day, or until it is withdrawn
//     PUBLISH prefix:relay:REPLICA    {"relay":1,"ask":"ID","from":"REPLICA","question":"..."}     a question
//                                     {"relay":1,"ring":"ID"}                there are lines, or room, or an end
//     RPUSH   prefix:relay:{ID}:lines  "hHEAD" "lLINE" "lLINE" ... and at last "e", the end, or "x", cut off
//     SET     prefix:relay:{ID}:reader, :speaker  that they are there, for 5 s; renewed each second
//
// The list is short: who answers waits for room. Where one of the two is gone, or Redis, the other ends too.
import { randomUUID } from 'node:crypto';
import { Failure } from '../errors.ts';
import { type Redis, RedisAway, toScript } from './redis.ts';
import { createBell } from './relay-bell.ts';
import { type Answer, pourLines, readLines } from './relay-lines.ts';

export interface Relay {
  /** Questions about that are for this replica, until it is withdrawn. */
  offer(thing: string): void;
  withdraw(thing: string): void;
  /** Answers what others ask; may throw, which the others then see as nothing said. */
  serve(answer: (question: string) => Promise<Answer>): void;
  /** Asks who has the thing; undefined where nobody has. Throws a Failure where it cannot be asked now. */
  ask(thing: string, question: string): Promise<Answer | undefined>;
}

export interface RedisRelayOptions {
  redis: Pick<Redis, 'run' | 'listen'>;
  prefix: string;
  /** Hears of answers that failed here. */
  onFault(fault: unknown): void;
  /** How long a question waits for its answer. */
  askMs?: number;
}

const askMsUsual = 1_000;
/** Questions that wait at once; further ones are to come back. */
const asksMax = 64;
const linesMax = 16;
const presentMs = 5_000;
const lookMs = 1_000;
/** Of a list that nobody takes from, and of a thing that nobody withdrew, since its replica died. */
const linesKeptMs = 15_000;
const offerMs = 24 * 3_600_000;
const version = 1;

const set = toScript("return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])");
const get = toScript("return redis.call('GET', KEYS[1])");
const del = toScript("return redis.call('DEL', KEYS[1])");
const begin = toScript(`redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
return redis.call('PUBLISH', ARGV[2], ARGV[3])`);
const put = toScript(`if redis.call('EXISTS', KEYS[2]) == 0 then return -1 end
redis.call('SET', KEYS[3], '1', 'PX', ARGV[5])
local count = redis.call('LLEN', KEYS[1])
if ARGV[1] ~= '' then
  count = redis.call('RPUSH', KEYS[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[4])
end
return count`);
/** Whether somebody is there to put lines, and the lines. */
const take = toScript(`redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
local lines = redis.call('LRANGE', KEYS[1], 0, -1)
if #lines > 0 then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', ARGV[2], ARGV[3])
end
return {redis.call('EXISTS', KEYS[3]), lines}`);
const forget = toScript(`redis.call('DEL', KEYS[1], KEYS[2])
return redis.call('PUBLISH', ARGV[1], ARGV[2])`);

/** Nobody takes the lines out any more. */
class ReaderGone extends Error {}

interface Message {
  relay?: number;
  ask?: string;
  from?: string;
  question?: string;
  ring?: string;
}

export function createRedisRelay({ redis, prefix, onFault, askMs = askMsUsual }: RedisRelayOptions): Relay {
  const replica = randomUUID();
  const channelOf = (other: string) => `${prefix}relay:${other}`;
  const thingKey = (thing: string) => `${prefix}relay:has:${thing}`;
  const keysOf = (id: string) => ['lines', 'reader', 'speaker'].map((what) => `${prefix}relay:{${id}}:${what}`);
  const toMessage = (message: Message) => JSON.stringify({ relay: version, ...message });
  const bells = new Map<string, ReturnType<typeof createBell>>();
  const openBell = (id: string) => {
    const bell = createBell();
    bells.set(id, bell);
    return bell;
  };
  let answer: ((question: string) => Promise<Answer>) | undefined;
  let asks = 0;

  redis.listen(channelOf(replica), (text) => {
    const { ask, from, question, ring } = parseMessage(text);
    if (ring !== undefined) bells.get(ring)?.ring();
    else if (ask !== undefined && from !== undefined && question !== undefined) {
      give(ask, from, question).catch((fault: unknown) => {
        if (!(fault instanceof ReaderGone || fault instanceof RedisAway)) onFault(fault);
      });
    }
  });

  /** Lines of an answer into the list, as there is room. */
  const give = async (id: string, from: string, question: string) => {
    if (!answer) return;
    const { head, lines, leave } = await answer(question);
    const bell = openBell(id);
    let lost: unknown;
    /** How many lines lie there; looks only, where there is nothing to put. */
    const putLine = async (line: string): Promise<number> => {
      if (lost !== undefined) throw lost;
      const message = toMessage({ ring: id });
      const count = Number(await redis.run(put, keysOf(id), [line, linesKeptMs, channelOf(from), message, presentMs]));
      if (count < 0) throw new ReaderGone();
      return count;
    };
    // While no line comes, it is seen here that the reader has gone, or Redis.
    const look = () =>
      putLine('').catch((fault: unknown) => {
        lost ??= fault;
        leave();
      });
    const watch = setInterval(look, lookMs);
    try {
      await putLine(`h${head}`);
      const end = await pourLines(lines, async (line) => {
        let count = await putLine(`l${line}`);
        while (count >= linesMax) {
          await bell.rung(lookMs);
          count = await putLine('');
        }
      });
      await putLine(end);
    } finally {
      clearInterval(watch);
      bells.delete(id);
      leave();
    }
  };

  const askHolder = async (holder: string, question: string): Promise<Answer | undefined> => {
    const id = randomUUID();
    const bell = openBell(id);
    const message = toMessage({ ask: id, from: replica, question });
    const ring = toMessage({ ring: id });
    let isLeft = false;
    const leave = () => {
      if (isLeft) return;
      isLeft = true;
      bell.ring();
      bells.delete(id);
      redis.run(forget, keysOf(id), [channelOf(holder), ring]).catch(() => {});
    };
    const takeLines = async (): Promise<[isSpoken: number, lines: string[]] | undefined> =>
      isLeft
        ? undefined
        : ((await redis.run(take, keysOf(id), [presentMs, channelOf(holder), ring])) as [number, string[]]);
    try {
      // A replica that died has left its things behind, and hears nothing.
      const hearers = await redis.run(begin, keysOf(id), [presentMs, channelOf(holder), message]);
      if (hearers === 0) return void leave();
      for (const untilMs = performance.now() + askMs; performance.now() < untilMs; ) {
        await bell.rung(untilMs - performance.now());
        const [head, ...rest] = (await takeLines())?.[1] ?? [];
        if (head !== undefined)
          return { head: head.slice(1), lines: readLines(rest, takeLines, () => bell.rung(lookMs)), leave };
      }
      throw new Failure('overloaded');
    } catch (error) {
      leave();
      throw error;
    }
  };

  return {
    // Where Redis is away now, the thing is only read here.
    offer: (thing) => void redis.run(set, [thingKey(thing)], [replica, offerMs]).catch(() => {}),
    withdraw: (thing) => void redis.run(del, [thingKey(thing)], []).catch(() => {}),
    serve(open) {
      answer = open;
    },
    async ask(thing, question) {
      if (asks >= asksMax) throw new Failure('overloaded');
      asks++;
      try {
        const holder = await redis.run(get, [thingKey(thing)], []);
        return typeof holder === 'string' && holder !== replica ? await askHolder(holder, question) : undefined;
      } catch (error) {
        throw error instanceof RedisAway ? new Failure('storage_unavailable', {}, error) : error;
      } finally {
        asks--;
      }
    },
  };
}

/** What is of another version, or none of ours, says nothing. */
function parseMessage(text: string): Message {
  try {
    const message = JSON.parse(text) as Message;
    return message.relay === version ? message : {};
  } catch {
    return {};
  }
}
