// Tests that a stream is refused cheaply under overload: neither its text nor the limits on its key are examined.
import { expect, test } from 'vitest';
import type { Call } from '../../src/api/call.ts';
import { createMetering } from '../../src/api/metering.ts';
import { createSpeechOperations, type SpeechOperationsOptions } from '../../src/api/speech.ts';
import { Failure } from '../../src/platform/errors.ts';
import { demandOf, Schedule } from '../../src/speech/schedule.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone } from '../engines/tone-engine.ts';
import { parseSpeechRequest } from '../speech/parse-request.ts';

test('a stream that would be refused is refused before its text is planned, and charged nothing', async () => {
  const tone = openTone();
  const schedule = new Schedule({ speakingMax: 1, waitingMax: 0 });
  const speech = createSpeech({ voices: createVoices([tone]), schedule });
  const looked: string[] = [];
  const plan: typeof speech.plan = (...asked) => {
    looked.push('text');
    return speech.plan(...asked);
  };
  const takeSynthesis = async () => {
    looked.push('limits');
    return { end() {} };
  };
  const metering = createMetering({
    limiter: { takeSynthesis },
    ledger: { add: async () => {}, checkPending() {} },
    onFault() {},
  });
  const options = { speech: { ...speech, plan }, metering } as unknown as SpeechOperationsOptions;
  const operations = createSpeechOperations(options);
  const request = parseSpeechRequest({ voice_id: 'tone-low', method: 'streaming', text_chunks: ['Hello.'] });
  const call = {
    caller: { callerId: 'key_1', accountId: 'key_1' },
    signal: new AbortController().signal,
    reportSpeech() {},
  };
  const stream = async () => Array.fromAsync(await operations.streamSpeech(call as unknown as Call, request));
  const { bindings } = createVoices([tone]).find('tone-low');
  const { end } = await schedule.begin(
    demandOf(bindings[0]!, request, { callerId: 'key_2', accountId: 'key_2' }),
    call.signal,
  );
  await expect(stream()).rejects.toMatchObject({ reason: 'overloaded', facts: { retryAfterSeconds: 1 } });
  expect(looked).toEqual([]);
  end();
  await stream();
  expect(looked).toEqual(['text', 'limits']);
  await tone.close();
});

test('what load causes in great numbers has no stack; a fault of the program has one', () => {
  expect(new Failure('overloaded').stack).not.toContain('\n    at ');
  expect(new Failure('internal_error').stack).toContain('\n    at ');
  expect(new Error('after it').stack).toContain('\n    at ');
});
