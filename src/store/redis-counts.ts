// Shares counts, such as a server's running requests, between replicas. Each replica adds the counts of the others:
//
//     HSET prefix:counts:NAME REPLICA "MS {"server":3}"     MS is the time on the Redis server; an entry counts for 3 s
import { randomUUID } from 'node:crypto';
import { type Redis, toScript } from './redis.ts';

const lifeMs = 3_000;

const exchange = toScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == '{}' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%d ', now) .. ARGV[2])
  redis.call('PEXPIRE', KEYS[1], 2 * ARGV[3])
end
local others = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local at, counts = string.match(all[i + 1], '^(%d+) (.*)$')
  if now - at > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  elseif all[i] ~= ARGV[1] then
    table.insert(others, counts)
  end
end
return others`);

export type ShareCounts = ReturnType<typeof createRedisCounts>;

interface OtherCounts {
  others: Record<string, number>;
  /** Number of replicas, including this one. */
  replicas: number;
}

/** Publishes this replica's counts, and resolves with the sums over the other replicas. Rejects with `RedisAway`. */
export function createRedisCounts(redis: Pick<Redis, 'run'>, prefix: string) {
  const replica = randomUUID();
  return async (name: string, counts: Readonly<Record<string, number>>): Promise<OtherCounts> => {
    const args = [replica, JSON.stringify(counts), lifeMs];
    const replies = (await redis.run(exchange, [`${prefix}counts:${name}`], args)) as string[];
    const others: Record<string, number> = {};
    for (const reply of replies)
      for (const [key, count] of Object.entries(JSON.parse(reply) as Record<string, number>))
        others[key] = (others[key] ?? 0) + count;
    return { others, replicas: replies.length + 1 };
  };
}
