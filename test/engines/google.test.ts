// Tests that the Google engine keeps the contract, and Google's rules, however Google behaves.
import { status as code } from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { type GoogleOptions, openGoogle } from '../../src/engines/google/google.ts';
import { wavOfBytes } from '../audio/recording-files.ts';
import { engineConformance } from '../conformance/engine.ts';
import { googleVoice } from './google-rules.ts';
import { type GoogleTrouble, googleOptions, openAtGoogle, openGoogleServer } from './google-server.ts';
import { rejection } from './rejection.ts';
import { runAlone } from './run-alone.ts';

const voices = ['en-US', 'cmn-CN', 'en-GB-Neural2'];

engineConformance('google', async () => {
  const { endpoint } = await openGoogleServer({}, afterAll);
  return openGoogle(googleOptions(endpoint, voices));
});

const charon = 'en-US-Chirp3-HD-Charon';
const neural = 'en-GB-Neural2-A';

const open = (trouble?: GoogleTrouble, more: Partial<GoogleOptions> = {}) => openAtGoogle(trouble, { voices, ...more });

const segment = (engine: Engine, text: string, voiceId: string): Segment => {
  const voice = engine.voices.find((each) => each.voiceId === voiceId)!;
  return { voice, text, languageCode: voice.languageCodes[0]!, speakingRate: 1, timings: false, urgent: true };
};
const listen = (engine: Engine, text: string, voiceId: string, signal = new AbortController().signal) =>
  Array.fromAsync(runAlone(takingLongText(engine), segment(engine, text, voiceId), signal));
const takingLongText = (engine: Engine): Engine => {
  return { ...engine, capabilities: { ...engine.capabilities, segmentCharsMax: 10_000 } };
};
const hear = async (engine: Engine, text = 'One two three.', voiceId = charon) =>
  (await listen(engine, text, voiceId)).flatMap(({ samples }) => [...samples]);

describe('what it asks for', () => {
  test('is a stream of bare samples where the voice can', async () => {
    const { engine, calls } = await open();
    const requests = { ...segment(engine, 'One two three.', charon), speakingRate: 1.25 };
    await Array.fromAsync(engine.speak(requests, new AbortController().signal));
    expect(calls).toMatchObject([
      {
        method: 'stream',
        texts: ['One two three.'],
        voice: { name: charon, languageCode: 'en-US' },
        audio: { audioEncoding: 'PCM', sampleRateHertz: 24_000, speakingRate: 1.25 },
      },
    ]);
  });

  test('is a WAV where it cannot', async () => {
    const { engine, calls } = await open();
    await hear(engine, 'One two three.', neural);
    expect(calls).toMatchObject([
      { method: 'batch', texts: ['One two three.'], voice: { name: neural }, audio: { audioEncoding: 'LINEAR16' } },
    ]);
  });

  test('is nothing where there is nothing to say', async () => {
    const { engine, calls } = await open();
    for (const voiceId of [charon, neural])
      expect((await hear(engine, ' \n\0', voiceId)).every((n) => n === 0)).toBe(true);
    expect(calls).toEqual([]);
  });

  test('uses the language tags of Google, and reports canonical ones', async () => {
    const { engine, calls } = await open();
    const mandarin = engine.voices.find(({ voiceId }) => voiceId === 'cmn-CN-Chirp3-HD-Kore')!;
    expect(mandarin.languageCodes).toEqual(['zh-CN']);
    await hear(engine, '早上好。', mandarin.voiceId);
    expect(calls[0]!.voice!.languageCode).toBe('cmn-CN');
  });
});

describe('its voices', () => {
  test('are those named, by what they are', async () => {
    const { engine } = await open();
    expect(engine.voices.map(({ voiceId, name, labels }) => [voiceId, name, labels])).toEqual([
      [charon, 'Charon', { kind: 'Chirp3-HD', gender: 'male' }],
      ['en-US-Chirp3-HD-Kore', 'Kore', { kind: 'Chirp3-HD', gender: 'female' }],
      ['cmn-CN-Chirp3-HD-Kore', 'Kore', { kind: 'Chirp3-HD', gender: 'female' }],
      [neural, 'Neural2 A', { kind: 'Neural2', gender: 'female' }],
    ]);
  });

  test('are all that stream where none is named', async () => {
    const { engine } = await open({}, { voices: [] });
    expect(engine.voices.map(({ labels }) => labels.kind)).toEqual(['Chirp3-HD', 'Chirp3-HD', 'Chirp3-HD']);
  });

  test('are listed again from time to time; a list that does not come changes nothing', async () => {
    const { engine, state, calls } = await open({}, { refreshMs: 20 });
    const before = engine.voices;
    const listedTwice = () => expect.poll(() => calls.length).toBeGreaterThan(1);
    await listedTwice();
    expect(engine.voices).toBe(before);
    state.trouble = { voices: [googleVoice('en-US-Chirp3-HD-Zephyr', 'en-US', 'FEMALE')] };
    await expect.poll(() => engine.voices.map(({ name }) => name)).toEqual(['Zephyr']);
    state.trouble = { failures: { count: 1_000, code: code.UNAVAILABLE } };
    calls.length = 0;
    await listedTwice();
    expect(engine.voices.map(({ name }) => name)).toEqual(['Zephyr']);
  });
});

describe('long text reaches Google in pieces that it takes, and all of it:', () => {
  const sound = wavOfBytes(24_000, Buffer.alloc(4_800, 50));
  /** Calls the engine without the audio check, because the check refuses long texts whose audio is a click. */
  const speakClick = (engine: Engine, text: string, voiceId: string) =>
    Array.fromAsync(engine.speak(segment(engine, text, voiceId), new AbortController().signal));

  test('one call after the other', async () => {
    const text = 'The boat left the harbour early. '.repeat(151);
    const { engine, calls } = await open({ sound });
    await speakClick(engine, text, neural);
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.flatMap((call) => call.texts).join('')).toBe(text);
  });

  test.each([charon, neural])('a sentence that it finds too long in shorter ones (%s)', async (voiceId) => {
    const { engine, calls } = await open({ sentenceBytesMax: 250 });
    const text = `${'word '.repeat(80)}end.`;
    const sound = await hear(engine, text, voiceId);
    const [refused, ...spoken] = calls;
    expect(refused!.texts).toEqual([text]);
    expect(spoken.flatMap((call) => call.texts).join('')).toBe(text);
    expect(spoken).toHaveLength(voiceId === charon ? 1 : 3);
    expect(sound.length).toBe((await hear((await open()).engine, text, voiceId)).length);
  });

  test('and once only', async () => {
    const { engine, calls } = await open({ sentenceBytesMax: 50 });
    expect(await rejection(hear(engine, 'word '.repeat(80)))).toMatchObject({ reason: 'engine_error' });
    expect(calls).toHaveLength(2);
  });
});

describe('the sound', () => {
  test.each([1, 3, 9_601, 100_000])('is the same in messages of %i bytes', async (messageBytes) => {
    const { engine } = await open();
    const cut = await open({ messageBytes });
    expect(await hear(cut.engine, 'A.')).toEqual(await hear(engine, 'A.'));
  });

  test('is at the rate in the WAV header', async () => {
    const { engine, state } = await open({ wavRateHz: 16_000 });
    expect((await listen(engine, 'One.', neural))[0]!.sampleRateHz).toBe(16_000);
    state.trouble = { sound: wavOfBytes(22_050, Buffer.alloc(8_000, 50)) };
    expect((await listen(engine, 'One.', charon))[0]!.sampleRateHz).toBe(22_050);
    state.trouble = { wavRateHz: 4_000 };
    expect(await rejection(hear(engine, 'One.', neural))).toMatchObject({ reason: 'engine_error' });
  });

  test('keeps one rate through a segment', async () => {
    const { engine, state } = await open({ wavRateHz: 16_000 });
    const changing = (async () => {
      const text = 'a'.repeat(800);
      for await (const _ of runAlone(engine, segment(engine, text, neural), new AbortController().signal)) {
        state.trouble = {};
      }
    })();
    expect(await rejection(changing)).toMatchObject({ reason: 'engine_error' });
  });
});

describe('where Google fails', () => {
  const fails = (failing: number, retrySeconds?: number): GoogleTrouble => ({
    failures: { count: 1, code: failing, ...(retrySeconds && { retrySeconds }) },
  });

  test.each([
    ['over its quota, for as long as it says', fails(code.RESOURCE_EXHAUSTED, 12.5), 'engine_unavailable', 12.5],
    ['over its quota', fails(code.RESOURCE_EXHAUSTED), 'engine_unavailable', 30],
    ['not knowing why', fails(code.UNKNOWN), 'engine_error', 0],
    ['for a moment', fails(code.UNAVAILABLE), 'engine_unavailable', 0],
    ['giving up', fails(code.ABORTED), 'engine_unavailable', 0],
    ['refusing the project', fails(code.PERMISSION_DENIED), 'engine_unavailable', undefined],
    ['being late', fails(code.DEADLINE_EXCEEDED), 'engine_timeout', undefined],
    ['refusing what was asked', fails(code.INVALID_ARGUMENT), 'engine_error', undefined],
    ['sending silence', { sound: Buffer.alloc(48_000) }, 'engine_error', undefined],
  ] as [string, GoogleTrouble, string, number | undefined][])('%s', async (_, trouble, reason, retryAfterSeconds) => {
    for (const voiceId of [charon, neural]) {
      const { engine, calls } = await open({
        ...trouble,
        ...(trouble.failures && { failures: { ...trouble.failures } }),
      });
      const failure = await rejection(hear(engine, 'One two three.', voiceId));
      expect(failure).toMatchObject({ reason });
      expect(failure.facts.retryAfterSeconds).toBe(retryAfterSeconds);
      expect(failure.message).not.toMatch(/Google|as the test/);
      expect(calls).toHaveLength(1);
      if (trouble.failures) expect((await hear(engine)).length).toBeGreaterThan(1_000);
    }
  });

  test('an abort cancels the call at once, whether it speaks, stalls or has yet to begin', async () => {
    const slow = { firstDelayMs: 60_000 };
    const stalled: GoogleTrouble = { after: { bytes: 9_601, what: 'stall' } };
    for (const [trouble, voiceId] of [
      [slow, charon],
      [slow, neural],
      [stalled, charon],
      [{ messageDelayMs: 20 }, charon],
    ] as [GoogleTrouble, string][]) {
      const { engine, state, calls } = await open(trouble);
      const leaving = new AbortController();
      const hearing = listen(engine, 'One two three four five.', voiceId, leaving.signal).catch((error) => error);
      await expect.poll(() => calls[0]?.texts.length).toBe(1);
      leaving.abort(new Error('gone'));
      expect((await hearing).message).toBe('gone');
      await expect.poll(() => state.cancelled).toBe(1);
    }
  });

  test('it does not wait for more text: a stream is closed as soon as all is said', async () => {
    const { engine } = await open({ idleMs: 100, firstDelayMs: 150, messageDelayMs: 5 });
    expect((await hear(engine)).length).toBeGreaterThan(10_000);
  });

  test('not being there is a failure that may pass', async () => {
    const { engine, close } = await open();
    await close();
    const failure = await rejection(hear(engine));
    expect([failure.reason, failure.facts.retryAfterSeconds]).toEqual(['engine_unavailable', 0]);
  });
});
