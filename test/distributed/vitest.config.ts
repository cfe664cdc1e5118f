// Runs the tests of the HTTP APIs, the contract, jobs, webhooks and clocks on PostgreSQL and S3 (storage.ts): `npm run
// test:distributed`. The files are also part of the other suites.
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  {
    test: {
      include: ['test/{compat,contract,distributed,http,jobs,webhooks}/**/*.{test,programs}.ts'],
      env: { TEST_STORES: 'distributed' },
      globalSetup: ['test/distributed/servers.ts'],
    },
  },
);
