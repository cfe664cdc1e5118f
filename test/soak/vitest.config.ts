// Runs the soak tests: `npm run soak`. They are slow, run one after the other, and print their measurements; they
// assert behaviour but never timings, since the machine may be busy. They read /proc, so they need Linux.
import { defineConfig } from 'vitest/config';

// No test fetches a voice by itself.
process.env.SONANT_FETCH_VOICE = 'off';

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default defineConfig({
  test: {
    include: ['test/soak/*.soak.ts'],
    testTimeout: 15 * 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
