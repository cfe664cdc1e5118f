// The tests of the gateway, the contract, jobs and webhooks again, on PostgreSQL, Redis and S3 (storage.ts): `npm run
// test:distributed`. They are the same files that `npm test` and `npm run test:programs` run.
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  {
    test: {
      include: ['test/{contract,gateway,jobs,webhooks}/**/*.{test,programs}.ts'],
      env: { TEST_STORES: 'distributed' },
      globalSetup: ['test/distributed/servers.ts'],
    },
  },
);
