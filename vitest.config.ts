// The tests: everything in test/ named *.test.ts. Threads and child processes of engines need a moment to start on a
// busy machine, so the limits are wide; no test asserts a time. Many wait for programs: two files at once even on two
// cores. What Node has compiled is kept from process to process: Sonant itself is started a hundred times.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.compiled');

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/checked-replies.ts'],
    globalSetup: ['test/programs.ts', 'test/delivery/stores/s3-server.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
