// Runs as a process that begins work under a lock and never finishes, and reports when it has begun: node
// flight-holder.ts URL KEY LEASE_MS

import { createSingleFlight } from '../../src/clips/single-flight.ts';
import { createFlightLock } from '../../src/platform/store/flight-lock.ts';
import { connectPostgres } from '../../src/platform/store/postgres.ts';

const [url, key, leaseMs] = process.argv.slice(2);
const rows = connectPostgres({ url: url! });
const listen = rows.listen.bind(rows);
const singleFlight = createSingleFlight(createFlightLock({ rows, listen, leaseMs: Number(leaseMs) }));
process.on('disconnect', () => process.exit());
await singleFlight.run(key!, new AbortController().signal, {
  find: async () => undefined,
  async make() {
    process.send!('begun');
    return new Promise(() => {});
  },
});
