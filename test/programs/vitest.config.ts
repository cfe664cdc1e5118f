// Runs tests that drive other programs (browsers, players, load balancers), the code in the documentation, and the
// examples: `npm run test:programs`. These are all files named *.programs.ts.
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  { test: { include: ['{test,tools}/**/*.programs.ts'], exclude: ['**/node_modules'] } },
);
