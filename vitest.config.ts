// The tests: everything in test/ named *.test.ts. Threads and child processes of engines need a moment to start on a
// busy machine, so the limits are wide; no test asserts a time. Many wait for programs: two files at once even on two
// cores.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/checked-replies.ts'],
    globalSetup: ['test/programs.ts', 'test/clips/s3-server.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
