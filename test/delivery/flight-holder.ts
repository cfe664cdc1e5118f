// Runs as a process that begins work under a lock and never finishes, and reports when it has begun: node
// flight-holder.ts URL PREFIX KEY LEASE_MS

import { createSingleFlight } from '../../src/delivery/single-flight.ts';
import { openRedis } from '../../src/store/redis.ts';
import { createRedisLock } from '../../src/store/redis-lock.ts';

const [url, prefix, key, leaseMs] = process.argv.slice(2);
const redis = await openRedis({ url: url!, prefix: prefix!, answerMs: 5_000 });
const singleFlight = createSingleFlight(createRedisLock({ redis, prefix: prefix!, leaseMs: Number(leaseMs) }));
process.on('disconnect', () => process.exit());
await singleFlight.run(key!, new AbortController().signal, {
  find: async () => undefined,
  async make() {
    process.send!('begun');
    return new Promise(() => {});
  },
});
