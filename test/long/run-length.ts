// Reports whether this is `npm run test:long`, which repeats some tests of `npm test` with more texts.
export const isLongRun = process.env.TEST_RUN === 'long';
