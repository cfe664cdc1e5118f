// The suites of the gateway, of the contract and of webhooks again, with everything distributed: `npm run test:distributed`. They are
// the very files that `npm test` runs, on PostgreSQL, Redis and S3 (storage.ts). What stands in rpc/ keeps nothing.
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  {
    test: {
      include: ['test/{contract,gateway,jobs,webhooks}/**/*.test.ts'],
      env: { TEST_STORES: 'distributed' },
      globalSetup: ['test/distributed/servers.ts'],
    },
  },
);
