// The tests that take long because compilers, a speech recognizer or many texts do: `npm run test:long`. Everything named
// *.long.ts, and files of `npm test` that have more texts here (run-length.ts).
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, globalSetup: __, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  {
    test: {
      include: ['test/**/*.long.ts', 'test/engines/sound-check.test.ts'],
      env: { TEST_RUN: 'long' },
      globalSetup: ['test/programs.ts'],
    },
  },
);
