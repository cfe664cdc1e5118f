// Tests that the log of a flood of requests has only a few lines and a count.
import { expect, test } from 'vitest';
import { openRepeatedLines, repeatedLinesPerMinute } from '../../../src/platform/telemetry/log.ts';

test('a flood of 10 000 lines of a kind becomes a few and their number, beside those of other kinds', () => {
  const written: string[] = [];
  const reported: [string, number][] = [];
  const lines = openRepeatedLines<string>((...report) => reported.push(report));
  for (let i = 0; i < 10_000; i++) lines.add('flood', 'invalid_api_key', () => written.push('flood'));
  lines.add('one', 'not_found', () => written.push('one'));
  lines.close();
  expect(written).toEqual([...Array(repeatedLinesPerMinute).fill('flood'), 'one']);
  expect(reported).toEqual([['invalid_api_key', 10_000 - repeatedLinesPerMinute]]);
});

test('each window begins anew', async () => {
  let written = 0;
  const reported = Promise.withResolvers<number>();
  const lines = openRepeatedLines((_, count) => reported.resolve(count), 50);
  const add = () => lines.add('x', 'x', () => written++);
  for (let i = 0; i <= repeatedLinesPerMinute; i++) add();
  expect(await reported.promise).toBe(1);
  add();
  expect(written).toBe(repeatedLinesPerMinute + 1);
  lines.close();
});
