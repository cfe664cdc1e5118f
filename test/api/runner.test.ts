// Tests that each call finishes exactly once, whatever ends it, and that only admitted operations run.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { checkScopes } from '../../src/accounts/keys/admit.ts';
import { type Call, callerLeft, type EndedCall } from '../../src/api/call.ts';
import { openCallLimits } from '../../src/api/call-limits.ts';
import type { OpenCallLimits } from '../../src/api/open-calls.ts';
import { createRunner } from '../../src/api/runner.ts';
import type { TimeLimits } from '../../src/api/running-call.ts';
import { Failure } from '../../src/platform/errors.ts';
import { callerNamed } from '../transports/rpc/open-services.ts';

const { synthesizeSpeech, streamSpeech } = SpeechService.method;

function openRunner(
  scopes: Parameters<typeof callerNamed>[1],
  timeLimits?: TimeLimits,
  openLimits?: Partial<OpenCallLimits>,
) {
  const ended: EndedCall[] = [];
  const runner = createRunner({
    admit: async (_presented, ...choices) => {
      const caller = callerNamed('ada', scopes);
      checkScopes(caller, ...choices);
      return caller;
    },
    isInForce: async () => true,
    onCallEnd: (call) => void ended.push(call),
    timeLimits,
    openLimits: { ...openCallLimits, ...openLimits },
  });
  onTestFinished(() => runner.stop());
  const begin = () => runner.begin({ api: 'test', requestId: 'req_1', address: '127.0.0.1', reportLimits() {} });
  return { runner, ended, begin };
}

async function* count(to: number, call: Call) {
  for (let n = 0; n < to; n++) {
    await sleep(1);
    call.signal.throwIfAborted();
    yield n;
  }
}

test('a request that is charged before the admission has ended waits for it', async () => {
  const call = openRunner(['speech:stream']).begin();
  const admitted = call.admit({ key: 'x' }, streamSpeech);
  await call.admitAgain();
  await admitted;
  const refused = openRunner([]).begin();
  const [first, again] = [refused.admit({ key: 'x' }, streamSpeech), refused.admitAgain()];
  await expect(first).rejects.toMatchObject({ reason: 'insufficient_scope' });
  await expect(again).rejects.toMatchObject({ reason: 'insufficient_scope' });
});

test('a call that was admitted to several operations runs only those whose scopes its key has', async () => {
  const { ended, begin } = openRunner(['speech:stream']);
  const call = begin();
  await call.admit({ key: 'x' }, synthesizeSpeech, streamSpeech);
  await expect(call.run(synthesizeSpeech, async () => 1)).rejects.toMatchObject({ reason: 'insufficient_scope' });
  expect(ended).toMatchObject([{ method: 'sonant.v1.SpeechService/SynthesizeSpeech', status: 'PERMISSION_DENIED' }]);
  const other = begin();
  await other.admit({ key: 'x' }, synthesizeSpeech, streamSpeech);
  expect(await Array.fromAsync(other.stream(streamSpeech, (running) => count(3, running)))).toEqual([0, 1, 2]);
  expect(ended[1]).toMatchObject({
    method: 'sonant.v1.SpeechService/StreamSpeech',
    status: 'OK',
    messageCount: 3,
    api: 'test',
  });
});

test('the headers of a trace are not read where calls are not traced', async () => {
  const { runner } = openRunner(['speech:stream']);
  const readTrace = () => {
    throw new Error('nobody asked');
  };
  const call = runner.begin({ api: 'test', requestId: 'req', address: '127.0.0.1', readTrace, reportLimits() {} });
  await call.admit({ key: 'x' }, streamSpeech);
  expect(await Array.fromAsync(call.stream(streamSpeech, (running) => count(1, running)))).toEqual([0]);
});

test('a key with none of the scopes is not admitted', async () => {
  const call = openRunner([]).begin();
  await expect(call.admit({ key: 'x' }, synthesizeSpeech, streamSpeech)).rejects.toMatchObject({
    reason: 'insufficient_scope',
    facts: { requiredScopes: ['speech:synthesize', 'speech:stream'] },
  });
});

test('an operation that was not admitted does not run', async () => {
  const { ended, begin } = openRunner(['speech:stream']);
  await expect(begin().run(streamSpeech, async () => 1)).rejects.toMatchObject({ reason: 'internal_error' });
  expect(ended).toMatchObject([{ status: 'INTERNAL' }]);
});

test('a reader who returns early ends the call and the operation', async () => {
  const { ended, begin } = openRunner(['speech:stream']);
  const call = begin();
  await call.admit({ key: 'x' }, streamSpeech);
  let signal: AbortSignal | undefined;
  const results = call.stream(streamSpeech, (running) => {
    signal = running.signal;
    return count(1000, running);
  });
  for await (const n of results) if (n === 1) break;
  expect(ended).toMatchObject([{ status: 'CANCELLED', messageCount: 2 }]);
  expect(signal?.reason).toBe(callerLeft);
});

test('a caller who left before the call began is not served', async () => {
  const { ended, begin } = openRunner(['speech:synthesize']);
  const call = begin();
  await call.admit({ key: 'x' }, synthesizeSpeech);
  call.abort(callerLeft);
  let hasRun = false;
  const work = async () => {
    hasRun = true;
  };
  await expect(call.run(synthesizeSpeech, work)).rejects.toBe(callerLeft);
  expect([hasRun, ended]).toMatchObject([false, [{ status: 'CANCELLED', failure: undefined }]]);
});

test('an operation that does not watch its signal is not waited for', async () => {
  const { ended, begin } = openRunner(['speech:synthesize'], { unaryCallMs: 20, streamCallMs: 20, readerStallMs: 20 });
  const call = begin();
  await call.admit({ key: 'x' }, synthesizeSpeech);
  await expect(call.run(synthesizeSpeech, () => new Promise(() => {}))).rejects.toMatchObject({
    reason: 'engine_timeout',
  });
  expect(ended).toMatchObject([{ status: 'DEADLINE_EXCEEDED' }]);
});

test('a service that stops ends what runs, and begins nothing', async () => {
  const { runner, ended, begin } = openRunner(['speech:synthesize']);
  const [running, late] = [begin(), begin()];
  for (const call of [running, late]) await call.admit({ key: 'x' }, synthesizeSpeech);
  const result = running.run(synthesizeSpeech, () => new Promise(() => {})).catch((error: Failure) => error.reason);
  runner.stop();
  expect(await result).toBe('overloaded');
  await expect(late.run(synthesizeSpeech, async () => 1)).rejects.toBeInstanceOf(Failure);
  expect(ended).toMatchObject([{ status: 'UNAVAILABLE' }, { status: 'UNAVAILABLE' }]);
});

test('a call without a key ends at its own deadline, or if nobody reads it', async () => {
  const { ended, begin } = openRunner([], undefined, { unaryMs: 0, streamMs: 60_000, stallMs: 0 });
  const { check: open, watch: openStream } = Health.method;
  const unary = begin();
  unary.admitAnyone(open);
  await expect(unary.run(open, () => new Promise(() => {}))).rejects.toMatchObject({ reason: 'engine_timeout' });
  const unread = begin();
  unread.admitAnyone(openStream);
  let signal: AbortSignal | undefined;
  const results = unread.stream(openStream, (call) => {
    ({ signal } = call);
    return count(1000, call);
  });
  const reader = results[Symbol.asyncIterator]();
  await reader.next();
  await expect.poll(() => signal?.aborted).toBe(true);
  await expect(reader.next()).rejects.toMatchObject({ reason: 'engine_timeout' });
  expect(ended.map(({ failure }) => failure?.message)).toEqual([
    'The call did not finish within 0 s.',
    'The client read nothing from the stream for 0 s.',
  ]);
});
