// How often a piece of sound waits between the pipeline and whoever writes it: every wait is a turn of the queue of promises.
import { promiseHooks } from 'node:v8';
import { expect, test } from 'vitest';
import { createMetering } from '../../src/operations/metering.ts';
import { speechOperations } from '../../src/operations/operation.ts';
import { createRunner } from '../../src/operations/runner.ts';
import { parseSpeechRequest } from '../../src/speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../../src/speech/speech-events.ts';

const audio = new Uint8Array(8192);
const request = parseSpeechRequest({ voice_id: 'ada', text: 'Hello.' });

/** Without a generator: it waits for nothing itself. */
function pieces(count: number): AsyncIterable<SpeechEvent> {
  let n = -1;
  const info = { type: 'info', format: 'wav', sampleRateHz: 24_000 } as SpeechInfo;
  const next = async (): Promise<IteratorResult<SpeechEvent>> => {
    n++;
    if (n === 0) return { done: false, value: info };
    if (n > count) return { done: true, value: undefined };
    return { done: false, value: { type: 'audio', chunkIndex: 0, audio, chunkCharsBegun: 1, charsBegun: 1 } };
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

async function waitsFor(count: number): Promise<number> {
  const runner = createRunner({
    admit: async () => ({ callerId: 'ada', keyId: 'key', accountId: 'ada', scopes: ['tts:stream'] }) as never,
    isInForce: async () => true,
    onCallEnd() {},
  });
  const metering = createMetering({
    limiter: { takeSynthesis: async () => ({ end() {} }) },
    ledger: { add: async () => {}, checkRoom() {} },
    onFault() {},
  });
  const call = runner.begin({ door: 'grpc', requestId: 'req', address: '127.0.0.1', reportLimits() {} });
  const found = { request, voice: { voice: { voiceId: 'ada', engine: 'tone' } } } as never;
  const operation = speechOperations.streamSpeech;
  await call.admit({ key: 'good' }, operation);
  const events = call.stream(operation, (begun) => metering.chargeStream(begun, found, () => pieces(count)));
  let waits = 0;
  const stop = promiseHooks.onBefore(() => waits++);
  try {
    for await (const _ of events);
  } finally {
    stop();
    runner.stop();
  }
  return waits;
}

test('a piece of sound passes at most five waits between the pipeline and the API that writes it', async () => {
  await waitsFor(10);
  const [few, many] = [await waitsFor(100), await waitsFor(300)];
  expect((many - few) / 200).toBeLessThanOrEqual(5);
});
