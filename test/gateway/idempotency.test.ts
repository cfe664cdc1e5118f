// What is remembered under Idempotency-Keys when there are too many of them.
import { expect, test } from 'vitest';
import { Idempotency } from '../../src/gateway/idempotency.ts';
import { idempotencyKeysMax } from '../../src/gateway/limits.ts';

test('who sends too many keys loses their own oldest answers, and nobody what still runs', async () => {
  const idempotency = new Idempotency<number>();
  const once = (callerId: string, key: string, work = async () => 1) =>
    idempotency.once({
      key,
      callerId,
      request: {},
      work: async () => ({ answer: await work(), usefulUntilMs: Infinity }),
    });
  let finish: (answer: number) => void = () => {};
  const running = once('greedy', 'running', () => new Promise((resolve) => (finish = resolve)));
  await once('modest', 'a');
  for (let i = 0; i < idempotencyKeysMax; i++) await once('greedy', String(i));

  const again = async () => 2;
  expect(await once('modest', 'a', again)).toBe(1);
  expect(await once('greedy', String(idempotencyKeysMax - 1), again)).toBe(1);
  await expect(once('greedy', 'running', again)).rejects.toMatchObject({ reason: 'idempotency_conflict' });
  expect(await once('greedy', '0', again)).toBe(2);
  finish(3);
  expect(await running).toBe(3);
  expect(await once('greedy', 'running', again)).toBe(3);
});
