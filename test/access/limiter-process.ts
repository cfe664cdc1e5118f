// Runs a replica in its own process. On a message, it sends more requests at once than the limits allow, and reports
// which were admitted. Run as: node limiter-process.ts URL PREFIX NOW_MS
import { admitted } from '../conformance/limited-descendants.ts';
import { openReplica } from './open-redis-limiter.ts';

const [url, prefix, nowMs] = process.argv.slice(2);
const replica = await openReplica({ url: url!, prefix: prefix!, now: () => Number(nowMs) });
const many = <T>(take: () => Promise<T>) => admitted(Array.from({ length: 200 }, take));

process.on('message', async () => {
  const requests = await many(() => replica.request());
  const texts = await many(() => replica.speak(333, { charactersPerMonth: 10_000, concurrency: 10_000 }));
  const slots = await many(() => replica.speak(0, { concurrency: 35 }));
  process.send!({ requests, texts, slots });
});
process.on('disconnect', () => process.exit());
process.send!('ready');
