// Tests how a recognizer is asked to hear speech: few segments at once, fairly among accounts; a server that fails is
// left alone for a while; and what it says is not trusted.
import { expect, onTestFinished, test } from 'vitest';
import type { Listen } from '../../src/engines/guard.ts';
import { openTranscriber } from '../../src/speech/transcription.ts';
import { createVerifier } from '../../src/speech/verification.ts';
import { segmentOf } from '../engines/open-guard.ts';
import { openTone } from '../engines/tone-engine.ts';
import { openTranscriptionServer, type TranscriptionAnswer } from './transcription-server.ts';

const text = 'Please do not open the red door.';
const says = (said: string): TranscriptionAnswer => ({ body: JSON.stringify({ text: said }) });
const pieces = [{ samples: new Int16Array(8_000), sampleRateHz: 16_000 }];
const never = new AbortController().signal;

interface Asked {
  signal: AbortSignal;
  untilMs: number;
  sound: typeof pieces;
}

async function open(answer: () => TranscriptionAnswer | Promise<TranscriptionAnswer>) {
  const server = await openTranscriptionServer(answer);
  onTestFinished(server.close);
  const transcribe = openTranscriber({ url: server.url, apiKey: '', model: 'whisper-1' })!;
  const verifier = createVerifier(transcribe, { atOnceMax: 4 });
  const engine = openTone();
  const hear = (owner = 'one', more: Partial<Parameters<Listen>[0]> = {}, by: Partial<Asked> = {}) => {
    const { signal = never, untilMs = Infinity, sound = pieces } = by;
    return verifier(owner)(segmentOf(engine, { text, ...more }), sound, signal, untilMs);
  };
  return { hear, asked: server.asked };
}

test('an account gets half of the slots, so that another account does not wait for it', async () => {
  const answered = Promise.withResolvers<TranscriptionAnswer>();
  const { hear, asked } = await open(() => answered.promise);
  const all = [...Array.from({ length: 5 }, () => hear('one')), hear('two')];
  await expect.poll(() => asked.length).toBe(3);
  answered.resolve(says(text));
  expect((await Promise.all(all)).map((heard) => heard?.isSuspect)).toEqual(Array(6).fill(false));
});

test('after five failures in a row, a server is not asked for a while', async () => {
  const { hear, asked } = await open(() => ({ status: 503, body: '' }));
  for (let i = 0; i < 8; i++) expect(await hear()).toBeUndefined();
  expect(asked).toHaveLength(5);
});

test('a server that cannot hear a language hears others', async () => {
  let status = 422;
  const { hear, asked } = await open(() => ({ ...says(text), status }));
  for (let i = 0; i < 8; i++) expect(await hear('one', { languageCode: 'rw' })).toBeUndefined();
  expect(asked.length).toBeGreaterThan(8);
  status = 200;
  expect(await hear()).toMatchObject({ isSuspect: false, wordErrors: 0 });
  expect(asked.at(-1)!.fields.response_format).toBe('verbose_json');
});

test('an endless text is cut before it is compared', async () => {
  const { hear } = await open(() => says('red door '.repeat(100_000)));
  const heard = await hear();
  expect(heard).toMatchObject({ isSuspect: true });
  expect(heard!.text.length).toBeLessThan(2_000);
});

test.each([
  ['names with phonemes of their own', 'please do not open the rote door', [{ from: 23, to: 26, phonemes: 'r' }], 0],
  ['single words', 'please do not open the rotten door', [], 1],
])('%s are not suspect', async (_, said, phonemes, wordErrors) => {
  const { hear, asked } = await open(() => says(said));
  expect(await hear('one', { phonemes })).toMatchObject({ isSuspect: false, wordErrors });
  expect(asked).toHaveLength(1);
});

test('a text without words needs no recognizer', async () => {
  const { hear, asked } = await open(() => says(''));
  expect(await hear('one', { text: '…' })).toMatchObject({ isSuspect: false });
  expect(asked).toHaveLength(0);
});

test.each([
  ['not open the red door', true],
  [' "Not open the red door."', true],
  ['then open the red door', false],
  ['open the red door', false],
])('if words may be spoken again, both parts are heard: %s', async (after, isSuspect) => {
  const answers = [text, 'Please do not.', after];
  const { hear, asked } = await open(() => says(answers.shift()!));
  expect(await hear('one', { likelyRepeat: 0.2 })).toMatchObject({ isSuspect });
  expect(asked.map(({ sampleCount }) => sampleCount)).toEqual([8_000, 3_200, 4_800]);
});

test.each([
  ['喜欢吃苹果', true],
  ['吃苹果', false],
])('both parts are heard in languages without spaces too: %s', async (after, isSuspect) => {
  const said = '我喜欢吃苹果。';
  const answers = [said, '我喜欢', after];
  const { hear } = await open(() => says(answers.shift()!));
  expect(await hear('one', { text: said, languageCode: 'zh-CN', likelyRepeat: 0.2 })).toMatchObject({ isSuspect });
});

test('a caller who leaves waits for nothing', async () => {
  const { hear } = await open(() => new Promise(() => {}));
  expect(await hear('one', {}, { signal: AbortSignal.timeout(20) })).toBeUndefined();
});

test('a server that is silent until the deadlines of an account is left alone by it, unless there was no time to hear', async () => {
  for (const [seconds, isLeftAlone] of [
    [0.001, true],
    [10, false],
  ] as const) {
    let isSilent = true;
    const { hear } = await open(() => (isSilent ? new Promise(() => {}) : says(text)));
    const sound = [{ samples: new Int16Array(seconds * 16_000), sampleRateHz: 16_000 }];
    for (let i = 0; i < 8; i++) await hear('one', {}, { sound, untilMs: performance.now() + 50 });
    isSilent = false;
    expect((await hear('one')) === undefined).toBe(isLeftAlone);
    expect(await hear('two')).toBeDefined();
  }
});
