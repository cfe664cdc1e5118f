// Tests how audio is prefetched. In the tests, words stand for cuts, and their letters for audio.
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Pace } from '../../src/platform/pace.ts';
import type { CutSource } from '../../src/speech/plan.ts';
import { Prefetch } from '../../src/speech/synthesize.ts';

/** Starts speech at once. */
function start(pieces: AsyncGenerator<string>): AsyncGenerator<string> {
  const first = pieces.next();
  return {
    ...pieces,
    next: () => pieces.next(),
    return: (value) => pieces.return(value),
    [Symbol.asyncIterator]: async function* () {
      const { done, value } = await first;
      if (!done) yield value;
      yield* pieces;
    },
  } as AsyncGenerator<string>;
}

async function* prefetch(
  cuts: CutSource<string>,
  speak: (word: string) => AsyncGenerator<string>,
  atOnce: number,
  pace?: Pace,
) {
  const ahead = new Prefetch<string, string>(cuts, { speak: (word) => start(speak(word)), atOnce, pace });
  try {
    for (let begun = await ahead.next(); begun; begun = await ahead.next())
      yield { cut: begun.cut, pieces: begun.speech as AsyncGenerator<string> };
  } finally {
    ahead.close();
  }
}

/** Speaks the letters of words, and records the words that were begun and the words that were abandoned. */
function createSpeaker() {
  const begun: string[] = [];
  const left: string[] = [];
  async function* speak(word: string) {
    begun.push(word);
    let isOver = false;
    try {
      yield* word;
      isOver = true;
    } finally {
      if (!isOver) left.push(word);
    }
  }
  return { speak, begun, left };
}

test('the next cut is begun while the present one is read, and no other', async () => {
  const { speak, begun } = createSpeaker();
  const heard: string[] = [];
  for await (const { cut, pieces } of prefetch(['ab', 'cd', 'ef'].values(), speak, 2)) {
    for await (const piece of pieces) heard.push(`${cut}: ${piece}, ${begun.length} begun`);
  }
  expect(heard).toEqual([
    'ab: a, 2 begun',
    'ab: b, 2 begun',
    'cd: c, 3 begun',
    'cd: d, 3 begun',
    'ef: e, 3 begun',
    'ef: f, 3 begun',
  ]);
});

test('for a reader who stops, what was made ahead is let go; it hears all the same, and nothing ahead again', async () => {
  const { speak, begun, left } = createSpeaker();
  const pace = new Pace();
  const heard: string[] = [];
  for await (const { pieces } of prefetch(['ab', 'cd', 'ef', 'gh'].values(), speak, 2, pace)) {
    for await (const piece of pieces) {
      heard.push(piece);
      if (piece === 'a') {
        pace.given();
        pace.look(Infinity);
        await turn();
        expect([begun, left]).toEqual([['ab', 'cd'], ['cd']]);
        pace.taken();
      }
    }
  }
  expect(heard.join('')).toBe('abcdefgh');
  expect(begun).toEqual(['ab', 'cd', 'cd', 'ef', 'gh']);
});

test('a reader who leaves ends all that was begun', async () => {
  const { speak, left } = createSpeaker();
  for await (const { pieces } of prefetch(['ab', 'cd', 'ef'].values(), speak, 2)) {
    for await (const _ of pieces) break;
    break;
  }
  await turn();
  expect(left.toSorted()).toEqual(['ab', 'cd']);
});

test('after a reader who leaves, no more of a text that arrives later is taken', async () => {
  const { speak } = createSpeaker();
  const taken: string[] = [];
  const arrivals = Array.from({ length: 4 }, () => Promise.withResolvers<string>());
  let hasEnded = false;
  async function* arriving(): AsyncGenerator<string, undefined> {
    try {
      for (const { promise } of arrivals) {
        const word = await promise;
        taken.push(word);
        yield word;
      }
    } finally {
      hasEnded = true;
    }
  }
  arrivals[0]!.resolve('ab');
  for await (const { pieces } of prefetch(arriving(), speak, 2)) {
    for await (const _ of pieces) break;
    break;
  }
  // The cut that is awaited at that time still arrives.
  for (const [n, word] of ['cd', 'ef', 'gh'].entries()) arrivals[n + 1]!.resolve(word);
  await expect.poll(() => hasEnded).toBe(true);
  await turn();
  expect(taken).toEqual(['ab', 'cd']);
});

test('cuts of which one fails after the reader has left harm nobody', async () => {
  const { speak } = createSpeaker();
  const failing = Promise.withResolvers<string>();
  async function* arriving(): AsyncGenerator<string, undefined> {
    yield 'ab';
    yield await failing.promise;
  }
  for await (const { pieces } of prefetch(arriving(), speak, 2)) {
    for await (const _ of pieces) break;
    break;
  }
  failing.reject(new Error('the text breaks off'));
  await turn();
});
