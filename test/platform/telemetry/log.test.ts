// Tests which lines the log contains, and that any value can be logged.
import { expect, test } from 'vitest';
import {
  createLog,
  type LogFacts,
  openRepeatedLines,
  repeatedLinesPerMinute,
} from '../../../src/platform/telemetry/log.ts';

function lineOf(facts: LogFacts): Record<string, unknown> {
  const lines: string[] = [];
  createLog('info', (line) => lines.push(line)).info('something', facts);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\{"time":"[^"]+","level":"info","message":"something".*\}\n$/);
  return JSON.parse(lines[0]!);
}

test('nothing is written below the level', () => {
  const lines: string[] = [];
  const log = createLog('warn', (line) => lines.push(line));
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level);
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(['warn', 'error']);
});

test('errors are logged with their stack, and the errors in them', () => {
  const cause = new TypeError('below');
  const fault = new AggregateError([new Error('one'), 'two'], 'above', { cause });
  const logged = lineOf({ fault }).fault as Record<string, unknown>;
  expect(logged).toMatchObject({
    name: 'AggregateError',
    stack: expect.stringContaining('above'),
    cause: { name: 'TypeError', stack: expect.stringContaining('below') },
    errors: [{ stack: expect.stringContaining('one') }, 'two'],
  });
  expect(lineOf({ count: 12n })).toMatchObject({ count: '12' });
});

test('circular values are logged up to the cycle', () => {
  const ring: Record<string, unknown> = { name: 'ring' };
  ring.self = ring;
  expect(lineOf({ ring }).facts).toMatch(/name: 'ring'.*Circular/s);
  const fault = new Error('its own cause');
  fault.cause = fault;
  expect(lineOf({ fault }).facts).toContain('its own cause');
});

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
