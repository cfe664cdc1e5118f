// Text that flows from the replica that has it to the one that is asked for it, through Redis or Valkey. A question goes to
// all; whoever can answer puts lines into a list, and who asked takes them out:
//
//     PUBLISH prefix:relay  {"ask":"ID","question":"..."}  to all          {"ring":"ID"}  there are lines, or room, or an end
//     RPUSH   prefix:relay:{ID}:lines  "hHEAD" "lLINE" "lLINE" ... and at last "e", the end, or "x", cut off
//     SET     prefix:relay:{ID}:reader, :speaker  that they are there, for 5 s; renewed each second
//
// The list is short: who answers waits for room. Where one of the two is gone, or Redis, the other ends too.
import { randomUUID } from 'node:crypto';
import { type Redis, toScript } from './redis.ts';

/** What a question is answered with: a head at once, and lines as they come. */
export interface Answer {
  head: string;
  /** Throws where it is cut off. */
  lines: AsyncIterable<string>;
  /** Nobody reads on. */
  leave(): void;
}

export interface Relay {
  /** Answers what others ask; undefined where it cannot. */
  serve(answer: (question: string) => Promise<Answer | undefined>): void;
  /** Asks the others; undefined where nobody can answer. */
  ask(question: string): Promise<Answer | undefined>;
}

export interface RedisRelayOptions {
  redis: Pick<Redis, 'run' | 'listen'>;
  prefix: string;
  /** How long a question waits for somebody to answer. */
  askMs?: number;
}

const askMsUsual = 1_000;
/** Questions that wait at once; further ones are answered by nobody. */
const asksMax = 64;
const linesMax = 16;
const presentMs = 5_000;
const lookMs = 1_000;
/** Of a list that nobody takes from. */
const linesKeptMs = 15_000;

const put = toScript(`if redis.call('EXISTS', KEYS[2]) == 0 then return -1 end
redis.call('SET', KEYS[3], '1', 'PX', ARGV[5])
local count = redis.call('LLEN', KEYS[1])
if ARGV[1] ~= '' then
  count = redis.call('RPUSH', KEYS[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[4])
end
return count`);
const begin = toScript(`redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
return redis.call('PUBLISH', ARGV[2], ARGV[3])`);
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

export function createRedisRelay({ redis, prefix, askMs = askMsUsual }: RedisRelayOptions): Relay {
  const channel = `${prefix}relay`;
  const bells = new Map<string, Bell>();
  let answer: (question: string) => Promise<Answer | undefined> = async () => undefined;
  let asks = 0;
  redis.listen(channel, (message) => {
    const { ask, question, ring } = JSON.parse(message) as { ask?: string; question?: string; ring?: string };
    if (ring !== undefined) bells.get(ring)?.ring();
    else if (ask !== undefined && !bells.has(ask)) void give(ask, question!).catch(() => {});
  });
  const keysOf = (id: string) => ['lines', 'reader', 'speaker'].map((what) => `${channel}:{${id}}:${what}`);
  const ringOf = (id: string) => JSON.stringify({ ring: id });
  const openBell = (id: string) => {
    const bell = createBell();
    bells.set(id, bell);
    return bell;
  };

  /** Lines of an answer into the list, as there is room. */
  const give = async (id: string, question: string) => {
    const answered = await answer(question);
    if (!answered) return;
    const bell = openBell(id);
    /** How many lines lie there; looks only, where there is nothing to put. */
    const putLine = async (line: string): Promise<number> => {
      const count = Number(await redis.run(put, keysOf(id), [line, linesKeptMs, channel, ringOf(id), presentMs]));
      if (count < 0) throw new Error('nobody reads on');
      return count;
    };
    // While no line comes it is seen here that the reader has gone.
    const watch = setInterval(() => putLine('').catch(answered.leave), lookMs);
    try {
      await putLine(`h${answered.head}`);
      const end = await pour(answered.lines, async (line) => {
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
      answered.leave();
    }
  };

  return {
    serve(open) {
      answer = open;
    },
    async ask(question) {
      if (asks >= asksMax) return undefined;
      asks++;
      const id = randomUUID();
      const bell = openBell(id);
      const close = () => {
        bells.delete(id);
        redis.run(forget, keysOf(id), [channel, ringOf(id)]).catch(() => {});
      };
      const takeLines = () => redis.run(take, keysOf(id), [presentMs, channel, ringOf(id)]) as Promise<Taken>;
      try {
        await redis.run(begin, keysOf(id), [presentMs, channel, JSON.stringify({ ask: id, question })]);
        for (const untilMs = performance.now() + askMs; performance.now() < untilMs; ) {
          await bell.rung(untilMs - performance.now());
          const [, [head, ...rest]] = await takeLines();
          if (head !== undefined) return { head: head.slice(1), lines: readLines(rest, takeLines, bell), leave: close };
        }
      } catch {
        // Without Redis nobody can be asked.
      } finally {
        asks--;
      }
      close();
      return undefined;
    },
  };
}

/** Puts each line; answers the mark of how they ended. What cannot be put is thrown. */
async function pour(lines: AsyncIterable<string>, putLine: (line: string) => Promise<void>): Promise<'e' | 'x'> {
  const source = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await source.next().catch(() => undefined);
      if (!next) return 'x';
      if (next.done) return 'e';
      await putLine(next.value);
    }
  } finally {
    await source.return?.().catch(() => {});
  }
}

type Taken = [isSpoken: number, lines: string[]];

async function* readLines(begun: string[], takeLines: () => Promise<Taken>, bell: Bell): AsyncGenerator<string> {
  for (let [isSpoken, lines]: Taken = [1, begun]; ; [isSpoken, lines] = await takeLines()) {
    for (const line of lines) {
      if (line[0] === 'e') return;
      if (line[0] === 'x') isSpoken = 0;
      else yield line.slice(1);
    }
    if (!isSpoken) throw new Error('what was read was cut off at the replica that has it');
    await bell.rung(lookMs);
  }
}

interface Bell {
  ring(): void;
  /** Resolves when it rings, or has rung since it was last listened to, or after so long. */
  rung(waitMs: number): Promise<void>;
}

function createBell(): Bell {
  let hasRung = false;
  let wake = () => {};
  return {
    ring() {
      hasRung = true;
      wake();
    },
    async rung(waitMs) {
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      hasRung = false;
    },
  };
}
