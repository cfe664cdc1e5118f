// The tests that take long because compilers and a speech recognizer do: `npm run test:long`. Everything named *.long.ts.
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, globalSetup: __, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  { test: { include: ['test/**/*.long.ts'], globalSetup: ['test/programs.ts'] } },
);
