// The tests: everything in test/ named *.test.ts. `npm test` runs those that are not in slow-files.ts, and `npm run
// test:slow` runs the others; `npx vitest run FILE` runs any file. The time limits are wide, because threads and child
// processes start slowly on a busy machine; no test asserts a time. Many tests wait for programs, so two files run at
// once even on two cores. All processes share what Node has compiled: Sonant itself is started a hundred times. In
// `npm test`, the files that open services share two processes, which import Sonant once; such a file leaves its process
// as it was. The other files import little and use much memory, so each has its own process, and so has each file that
// replaces timers: what earlier files left running would use the replaced ones.
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { markingFlag } from './src/memory.js';
import { slowFiles } from './test/slow-files.ts';

const { TEST_SUITE } = process.env;
// No test fetches a voice by itself.
process.env.SONANT_FETCH_VOICE = 'off';
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.compiled');

const all = ['test/**/*.test.ts'];
const withOwnTimers = globSync(all).filter((file) => readFileSync(file, 'utf8').includes('useFakeTimers'));
const openServices = [
  'test/{api,app,contract,speech,accounts/webhooks,clips/jobs}/**/*.test.ts',
  'test/transports/{http,rpc,vendors}/**/*.test.ts',
];
const quickProjects: TestProjectInlineConfiguration[] = [
  // Without the flag, V8 goes through all modules for each few megabytes of audio.
  {
    extends: true,
    test: {
      name: 'services',
      include: openServices,
      exclude: [...slowFiles, ...withOwnTimers],
      isolate: false,
      execArgv: [markingFlag],
    },
  },
  { extends: true, test: { name: 'parts', include: all, exclude: [...slowFiles, ...withOwnTimers, ...openServices] } },
  { extends: true, test: { name: 'timers', include: withOwnTimers, exclude: [...slowFiles] } },
];

export default defineConfig({
  test: {
    ...(TEST_SUITE === 'quick'
      ? { projects: quickProjects }
      : { include: TEST_SUITE === 'slow' ? [...slowFiles] : all }),
    setupFiles: ['test/checked-replies.ts'],
    globalSetup: ['test/clips/stores/s3-server.ts'],
    reporters: ['default', './test/skipped-tests.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
