// Test files that need much time, which `npm test` leaves out and `npm run test:slow` runs: they start many programs,
// read hostile or large files, or compare the audio of many texts.
export const slowFiles: readonly string[] = [
  'test/books/read-book.test.ts',
  'test/contract/same-sound.test.ts',
  'test/engines/sherpa-library.test.ts',
  'test/fuzz.test.ts',
  'test/http/limits.test.ts',
  'test/jobs/killed-jobs.test.ts',
  'test/store/killed.test.ts',
];
