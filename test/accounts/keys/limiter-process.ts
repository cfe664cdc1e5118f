// Runs a replica in its own process. On a message, it asks at once for more than the limits allow, and reports how much was
// granted. Run as: node limiter-process.ts URL NOW_MS
import { admitted } from '../../conformance/limited-descendants.ts';
import { openReplica } from './open-shared-limiter.ts';

const [url, nowMs] = process.argv.slice(2);
const replica = await openReplica({ url: url!, now: () => Number(nowMs) });
const many = <T>(take: () => Promise<T>) => admitted(Array.from({ length: 200 }, take));

const asked = {
  requests: () => replica.request(),
  texts: () => replica.speak(333, { charactersPerMonth: 10_000, concurrency: 10_000 }),
  slots: () => replica.speak(0, { concurrency: 35 }),
};

process.on('message', async (name: keyof typeof asked) => process.send!(await many<unknown>(asked[name])));
process.on('disconnect', () => process.exit());
process.send!('ready');
