// Runs as a process that opens a PostgreSQL database, and prints the migration steps that have been applied: node
// postgres-opener.ts URL
import { openPostgres } from '../../../src/platform/store/postgres.ts';

const store = await openPostgres({ url: process.argv[2]! });
const steps = await store.query<{ step: number }>('select step from migrations order by step');
process.stdout.write(JSON.stringify(steps.map(({ step }) => step)));
await store.close();
