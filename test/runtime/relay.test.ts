// A relay against the generator that it stands for: the same items, ends and clean-up.
import { expect, test } from 'vitest';
import { relay } from '../../src/runtime/relay.ts';

function source(log: string[], items: readonly number[], failure?: Error) {
  return (async function* () {
    try {
      yield* items;
      if (failure) throw failure;
    } finally {
      log.push('source ended');
    }
  })();
}

function opened(items: readonly number[], failure?: Error) {
  const log: string[] = [];
  const numbers = relay(
    async () => {
      log.push('begun');
      const from = source(log, items, failure);
      return { first: await from.next(), source: from };
    },
    ({ error, isWhole }) => log.push(`over, ${error ?? (isWhole ? 'whole' : 'left')}`),
  );
  return { numbers, log };
}

test('it yields what the other yields, begins with the first read, and ends once', async () => {
  for (const items of [[], [1], [1, 2, 3]]) {
    const { numbers, log } = opened(items);
    expect(log).toEqual([]);
    expect(await Array.fromAsync(numbers)).toEqual(items);
    expect(await numbers.next()).toEqual({ done: true, value: undefined });
    expect(log).toEqual(['begun', 'source ended', 'over, whole']);
  }
});

test('a failure passes, the first read’s too', async () => {
  for (const items of [[], [1, 2]]) {
    const { numbers, log } = opened(items, new Error('broken'));
    await expect(Array.fromAsync(numbers)).rejects.toThrow('broken');
    expect(log).toEqual(['begun', 'source ended', 'over, Error: broken']);
    expect(await numbers.next()).toEqual({ done: true, value: undefined });
  }
});

test('what is called at the end may fail in its place', async () => {
  const numbers = relay(
    async () => {
      throw new Error('broken');
    },
    () => {
      throw new Error('aborted');
    },
  );
  await expect(numbers.next()).rejects.toThrow('aborted');
});

test('a reader who leaves ends the source, then the whole', async () => {
  const { numbers, log } = opened([1, 2, 3]);
  for await (const number of numbers) if (number === 2) break;
  expect(log).toEqual(['begun', 'source ended', 'over, left']);
});

test('a reader who leaves before the first read begins nothing', async () => {
  const { numbers, log } = opened([1]);
  await numbers.return();
  expect(await numbers.next()).toEqual({ done: true, value: undefined });
  expect(log).toEqual([]);
});

test('a reader who leaves while it begins ends what was begun', async () => {
  const log: string[] = [];
  const found = Promise.withResolvers<void>();
  const numbers = relay(async () => {
    await found.promise;
    const from = source(log, [1, 2]);
    return { first: await from.next(), source: from };
  });
  const first = numbers.next();
  const left = numbers.return();
  found.resolve();
  expect(await first).toEqual({ done: false, value: 1 });
  await left;
  expect(log).toEqual(['source ended']);
});
