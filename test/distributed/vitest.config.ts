// Runs the tests of the HTTP APIs, the contract, jobs, webhooks and clocks on PostgreSQL and S3 (storage.ts): `npm run
// test:distributed`. The files are also part of the other suites.
import { existsSync } from 'node:fs';
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, ...test } = usual.test!;
const folders = ['accounts/webhooks', 'clips/jobs', 'contract', 'distributed', 'transports/http', 'transports/vendors'];
for (const folder of folders) if (!existsSync(`test/${folder}`)) throw new Error(`test/${folder} does not exist`);

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  {
    test: {
      include: [`test/{${folders}}/**/*.{test,programs}.ts`],
      env: { TEST_STORES: 'distributed' },
      globalSetup: ['test/distributed/servers.ts'],
    },
  },
);
