// Tests the log lines that are written during a flood of calls without a key.
import { expect, test } from 'vitest';
import type { EndedCall } from '../../src/api/call.ts';
import { openCallLog } from '../../src/app/logging.ts';
import { Failure, type Reason } from '../../src/platform/errors.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';

const ended = (reason?: Reason, callerId?: string): EndedCall => ({
  requestId: 'req_1',
  method: 'sonant.v1.SpeechService/StreamSpeech',
  api: 'grpc',
  callerId,
  status: reason ? 'UNAUTHENTICATED' : 'OK',
  failure: reason && new Failure(reason),
  durationMs: 1,
  messageCount: 0,
  keyId: callerId,
  traceId: undefined,
  speech: {},
});

test('a flood of calls without a key is a few lines and their number; calls of known callers have a line each', () => {
  const logged: string[] = [];
  const callLog = openCallLog(createLog('info', (line) => logged.push(line)));
  for (let i = 0; i < 5000; i++) callLog.write(ended('invalid_api_key'));
  for (let i = 0; i < 50; i++) callLog.write(ended('rate_limit_exceeded', 'key_1'));
  for (let i = 0; i < 50; i++) callLog.write(ended());
  for (let i = 0; i < 50; i++) callLog.write(ended('internal_error'));
  callLog.close();
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  const of = (reason?: string) => lines.filter((line) => line.reason === reason && line.message === 'call');
  expect(of('invalid_api_key')).toHaveLength(10);
  expect([of('rate_limit_exceeded').length, of().length, of('internal_error').length]).toEqual([50, 50, 50]);
  expect(lines.at(-1)).toMatchObject({ reason: 'invalid_api_key', count: 4990 });
});

test('a flood of calls that are refused for overload is a few lines a key and their number', () => {
  const logged: string[] = [];
  const callLog = openCallLog(createLog('info', (line) => logged.push(line)));
  for (let i = 0; i < 5000; i++) for (const key of ['key_1', 'key_2']) callLog.write(ended('overloaded', key));
  callLog.close();
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ message }) => message === 'call')).toHaveLength(20);
  expect(lines.slice(-2)).toMatchObject([
    {
      message: 'more calls refused for overload in the last minute',
      reason: 'overloaded',
      keyId: 'key_1',
      count: 4990,
    },
    { keyId: 'key_2', count: 4990 },
  ]);
});

test('times are logged to the microsecond', () => {
  const logged: string[] = [];
  const callLog = openCallLog(createLog('info', (line) => logged.push(line)));
  for (const failure of [undefined, new Failure('voice_not_found')])
    callLog.write({ ...ended(undefined, 'key_1'), failure, durationMs: 3.1327299999993556 });
  callLog.close();
  expect(logged.map((line) => JSON.parse(line).durationMs)).toEqual([3.133, 3.133]);
});
