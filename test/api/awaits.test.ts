// Tests how many promise turns a piece of audio takes from the engine through the pipeline to the socket. The expected
// counts are upper bounds; lower them when a layer is removed.
import { promiseHooks } from 'node:v8';
import type { FastifyReply } from 'fastify';
import { expect, test } from 'vitest';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { createMetering } from '../../src/api/metering.ts';
import { createRunner } from '../../src/api/runner.ts';
import type { Engine, Segment, SpokenPcm, Voice } from '../../src/engines/engine.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import type { Meter, SpeechEvent, SpeechInfo } from '../../src/speech/speech-events.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { sendPieces } from '../../src/transports/http/body-writer.ts';
import { beginSound } from '../../src/transports/http/synthesis/routes.ts';
import { parseSpeechRequest } from '../speech/parse-request.ts';

const audio = new Uint8Array(8192);
const request = parseSpeechRequest({ voice_id: 'ada', text: 'Hello.' });

/** Yields `count` pieces of audio. A generator would add waits. */
function pieces(count: number, meter: Meter): AsyncIterable<SpeechEvent> {
  let n = -1;
  const info = { type: 'info', format: 'wav', sampleRateHz: 24_000 } as SpeechInfo;
  const next = async (): Promise<IteratorResult<SpeechEvent>> => {
    n++;
    if (n === 0) await meter.count(info);
    if (n === 0) return { done: false, value: info };
    if (n > count) return { done: true, value: undefined };
    const value: SpeechEvent = { type: 'audio', chunkIndex: 0, audio, chunkCharsBegun: 1, charsBegun: 1 };
    const counted = meter.count(value);
    if (counted) await counted;
    return { done: false, value };
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

/** A call with a key, and the counter of its audio. */
async function openCall() {
  const runner = createRunner({
    admit: async () => ({ callerId: 'ada', keyId: 'key', accountId: 'ada', scopes: ['tts:stream'] }) as never,
    isInForce: async () => true,
    onCallEnd() {},
  });
  const metering = createMetering({
    limiter: { takeSynthesis: async () => ({ end() {} }) },
    ledger: { add: async () => {}, checkPending() {} },
    onFault() {},
  });
  const call = runner.begin({ api: 'grpc', requestId: 'req', address: '127.0.0.1', reportLimits() {} });
  const operation = SpeechService.method.streamSpeech;
  await call.admit({ key: 'good' }, operation);
  return { runner, metering, call, operation };
}

/** Returns the result with the fewest waits of twelve runs, because work of the test runner adds waits to a run. */
async function fewest<T extends { waits: number }>(run: () => Promise<T>): Promise<T> {
  let best = await run();
  for (let i = 1; i < 12; i++) {
    const next = await run();
    if (next.waits < best.waits) best = next;
  }
  return best;
}

async function countWaits(work: () => Promise<void>): Promise<number> {
  let waits = 0;
  const stop = promiseHooks.onBefore(() => waits++);
  try {
    await work();
  } finally {
    stop();
  }
  return waits;
}

async function waitsFor(count: number) {
  const { runner, metering, call, operation } = await openCall();
  const found = { request, main: { offered: { voice: { voiceId: 'ada', engine: 'tone' } } } } as never;
  const events = call.stream(operation, async (begun) => {
    const meter = await metering.openStream(begun, found);
    return pieces(count, meter);
  });
  const waits = await countWaits(async () => {
    for await (const _ of events);
  });
  runner.stop();
  return { waits };
}

const voice: Voice = {
  ...{ voiceId: 'ada', name: 'Ada', engine: 'ready', description: '', kind: 'stock', languageCodes: ['en'] },
  ...{ labels: {}, version: '1', gainDb: 0 },
};

/**
 * An engine whose audio is ready, written without a generator. Each piece of its audio becomes one piece of the answer.
 */
function readyEngine(): Engine {
  const samples = new Int16Array(6_000).map((_, n) => 8_000 * Math.sin(n / 12));
  const speak = ({ text }: Segment) => {
    const count = Math.ceil((text.length * 0.065 * 24_000) / samples.length);
    let n = 0;
    const next = async (): Promise<IteratorResult<SpokenPcm>> =>
      n++ < count ? { done: false, value: { samples, sampleRateHz: 24_000 } } : { done: true, value: undefined };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  };
  const speakingRates = { min: 0.25, max: 4 };
  const capabilities = { segmentCharsMax: 4_000, speakingRates, timings: false, readsNumbers: true, segmentsAtOnce: 1 };
  return { name: 'ready', voices: [voice], capabilities, speak, async close() {} } as unknown as Engine;
}

async function waitsToSocket(sentences: number) {
  const { runner, metering, call, operation } = await openCall();
  const text = 'The train leaves at half past nine, they said, and so it did, with all of us. '.repeat(sentences);
  const spoken = parseSpeechRequest({ voice_id: 'ada', method: 'streaming', text_chunks: [text], sample_rate: 24_000 });
  const schedule = new Schedule({ speakingMax: 1, waitingMax: 0 });
  const speech = createSpeech({ voices: createVoices([readyEngine()]), schedule });
  const caller = { callerId: 'ada', accountId: 'ada' };
  const planned = await speech.plan(spoken, caller);
  const events = call.stream(operation, async (begun) =>
    speech.speak(planned, caller, begun.signal, { openMeter: () => metering.openStream(begun, planned) }),
  );
  let written = 0;
  const raw = { writeHead() {}, write: () => ++written > 0, end() {} };
  const reply = { raw, hijack() {}, getHeaders: () => ({}), statusCode: 200 } as unknown as FastifyReply;
  const waits = await countWaits(async () => sendPieces(reply, {}, (await beginSound(events)).pieces));
  runner.stop();
  return { waits, written };
}

test('a piece of sound passes at most two waits between the pipeline and the API that writes it', async () => {
  const [few, many] = [await fewest(() => waitsFor(100)), await fewest(() => waitsFor(300))];
  expect((many.waits - few.waits) / 200).toBeLessThanOrEqual(2);
});

test('a piece of sound passes at most 13 waits between the engine and the socket', async () => {
  const [few, many] = [await fewest(() => waitsToSocket(4)), await fewest(() => waitsToSocket(12))];
  expect((many.waits - few.waits) / (many.written - few.written)).toBeLessThanOrEqual(13);
});
