// Tests which lines the log contains, and that any value can be logged.
import { expect, test } from 'vitest';
import { createLog, type LogFacts } from '../../../src/platform/telemetry/log.ts';

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
