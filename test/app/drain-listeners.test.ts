// Tests that draining waits for all listeners, even if one fails.
import { expect, test } from 'vitest';
import { drainListeners } from '../../src/app/service.ts';

test('a listener that fails is reported, and the other is still waited for', async () => {
  const { promise: slow, resolve: end } = Promise.withResolvers<void>();
  const seen: unknown[] = [];
  const listeners = [
    { drain: async (timeoutMs: number) => Promise.reject(`failed within ${timeoutMs}`) },
    { drain: () => slow },
  ];
  const drained = drainListeners(listeners, 20, (fault) => seen.push(fault)).then(() => seen.push('over'));
  await new Promise(setImmediate);
  expect(seen).toEqual([]);
  end();
  await drained;
  expect(seen).toEqual(['failed within 20', 'over']);
});
