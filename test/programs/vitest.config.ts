// Tests that drive other programs (browsers, players, load balancers), the code of the documents, and the examples:
// `npm run test:programs`. All files named *.programs.ts.
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const { include: _, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig({ ...usual, test }, { test: { include: ['test/**/*.programs.ts'] } });
