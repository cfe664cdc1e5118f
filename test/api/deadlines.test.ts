// Tests that a call is cancelled when it exceeds its deadline, whatever deadlines other calls have.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createDeadlines } from '../../src/api/deadlines.ts';

test('whatever is not over in time is ended once, the oldest first, and nothing else is', async () => {
  const deadlines = createDeadlines();
  const ended: string[] = [];
  const watch = (name: string, timeoutMs: number) => deadlines.watch(timeoutMs, () => ended.push(name));
  const over = watch('over', 20);
  watch('first', 20);
  watch('longer', 10_000)();
  await sleep(5);
  watch('second', 20);
  over();
  await expect.poll(() => ended).toEqual(['first', 'second']);
  watch('third', 20);
  await expect.poll(() => ended).toEqual(['first', 'second', 'third']);
});

test('what is ended may begin another, or end what is due with it', async () => {
  const deadlines = createDeadlines();
  const ended: string[] = [];
  let endOther = () => {};
  deadlines.watch(10, () => {
    ended.push('one');
    endOther();
    deadlines.watch(10, () => ended.push('two'));
  });
  endOther = deadlines.watch(10, () => ended.push('other'));
  await expect.poll(() => ended).toEqual(['one', 'two']);
});
