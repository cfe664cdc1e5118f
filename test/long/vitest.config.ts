// Runs slow tests (compilers, a speech recognizer, many texts): `npm run test:long`. These are all files named
// *.long.ts, and some *.test.ts files, which have more cases here.
import { mergeConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

/** Files of `npm test` with more cases here (run-length.ts). */
const longer = [
  'test/audio/book-file/book-file.test.ts',
  'test/library/books/read-book.test.ts',
  'test/contract/hostile-fields.test.ts',
  'test/contract/same-sound.test.ts',
  'test/speech/random-lexicons.test.ts',
  'test/speech/random-pauses.test.ts',
  'test/fuzz.test.ts',
  'test/transports/http/limits.test.ts',
  'test/clips/jobs/killed-jobs.test.ts',
  'test/engines/sound-check.test.ts',
  'test/platform/store/killed.test.ts',
];

const { include: _, globalSetup: __, ...test } = usual.test!;

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default mergeConfig(
  { ...usual, test },
  {
    test: {
      include: ['test/**/*.long.ts', ...longer],
      env: { TEST_RUN: 'long' },
    },
  },
);
