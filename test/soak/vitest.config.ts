// The soak tests: `npm run soak`. They are slow, one runs after the other, and they print what they measure; what they
// assert are facts and never times, since the machine may be busy. They read /proc, so they want Linux.
import { defineConfig } from 'vitest/config';

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
