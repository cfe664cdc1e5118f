// Tests clones at Google: the key is created over REST, used over gRPC, and revealed to nobody.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { status as code } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CloneSample, Engine, Voice } from '../../src/engines/engine.ts';
import { openGoogle } from '../../src/engines/google/google.ts';
import { Failure } from '../../src/platform/errors.ts';
import { type GoogleTrouble, openGoogleServer } from './google-server.ts';
import { segmentOf } from './open-guard.ts';

const signal = new AbortController().signal;
const pcm = { samples: Int16Array.from({ length: 24_000 }, (_, n) => 9_000 * Math.sin(n / 20)), sampleRateHz: 24_000 };

async function open(trouble: GoogleTrouble = {}) {
  const server = await openGoogleServer();
  const limits = { segmentsPerMinute: 200, cloneSegmentsPerMinute: 30, segmentsSpokenMax: 100 };
  const engine = await openGoogle({ credentials: '', endpoint: server.endpoint, voices: [], ...limits });
  onTestFinished(() => engine.close());
  server.calls.length = 0;
  server.state.trouble = trouble;
  return { ...server, engine, cloning: engine.cloning! };
}
const sampleIn = ({ cloning }: Engine, languageCode: string, more: Partial<CloneSample> = {}): CloneSample => ({
  reference: pcm,
  referenceText: '',
  consent: pcm,
  consentScript: cloning!.consentScripts[languageCode]!,
  languageCode,
  ...more,
});
const clonedSegment = (engine: Engine, clone: Uint8Array, languageCode: string, own = languageCode) => {
  const voice: Voice = { ...engine.voices[0]!, voiceId: 'v_somebody', kind: 'cloned', languageCodes: [own] };
  return segmentOf(engine, { voice, languageCode, clone });
};
const refusalOf = async (promise: Promise<unknown>): Promise<Failure> => {
  const refusal = await promise.then(
    () => undefined,
    (error) => error,
  );
  expect(refusal).toBeInstanceOf(Failure);
  return refusal;
};

test('a clone is made of two recordings, and speaks as a stream', async () => {
  const { engine, cloning, calls, keys } = await open();
  const clone = await cloning.make(sampleIn(engine, 'en-GB'), signal);
  expect(keys).toEqual(new Set([Buffer.from(clone).toString('utf8')]));
  const heard = await Array.fromAsync(engine.speak(clonedSegment(engine, clone, 'en', 'en-GB'), signal));
  expect(heard.reduce((sum, { samples }) => sum + samples.length, 0)).toBeGreaterThan(10_000);
  expect(calls).toMatchObject([
    { method: 'key', body: { language_code: 'en-GB', consent_script: expect.stringContaining('I am the owner') } },
    { method: 'stream', voice: { languageCode: 'en-GB', name: '' }, audio: { audioEncoding: 'PCM' } },
  ]);
});

test('samples are taken in each of its languages, by the names that Google has for them', async () => {
  const { engine, cloning, calls } = await open();
  const { sampleLanguageCodes, consentScripts } = cloning;
  expect(Intl.getCanonicalLocales(sampleLanguageCodes)).toEqual(sampleLanguageCodes);
  expect(Object.keys(consentScripts)).toEqual(sampleLanguageCodes);
  for (const language of ['zh-CN', 'ja-JP', 'ar-XA', 'fr-CA']) await cloning.make(sampleIn(engine, language), signal);
  expect(calls.map(({ body }) => body!.language_code)).toEqual(['cmn-CN', 'ja-JP', 'ar-XA', 'fr-CA']);
});

describe('what Google does not take', () => {
  const refused = (message: string, status = 400, named = 'INVALID_ARGUMENT', details: object[] = []) => {
    return { rest: { status, body: { error: { code: status, status: named, message, details } } } };
  };
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7.5s' };

  test.each([
    ['Voice talent consent audio does not match the script.', 'consent_audio'],
    ['Reference audio is too noisy.', 'reference_audio'],
  ])('is the caller’s to mend: %s', async (logged, field) => {
    const { engine, cloning } = await open(refused(logged));
    const failure = await refusalOf(cloning.make(sampleIn(engine, 'en-US'), signal));
    expect(failure).toMatchObject({ reason: 'invalid_request', facts: { details: [{ field }] } });
    expect(JSON.stringify(failure.facts) + failure.message).not.toContain(logged);
    expect((failure.cause as Error).message).toBe('Google answers INVALID_ARGUMENT');
  });

  test('is a consent statement other than its own', async () => {
    const { engine, cloning } = await open();
    const failure = await refusalOf(cloning.make(sampleIn(engine, 'en-US', { consentScript: 'Sure.' }), signal));
    expect(failure).toMatchObject({ reason: 'invalid_request', facts: { details: [{ field: 'consent_audio' }] } });
  });

  test.each([
    ['who is not admitted', refused('no', 403, 'PERMISSION_DENIED'), 'engine_unavailable', undefined],
    ['an expired login', refused('no', 401, 'UNAUTHENTICATED'), 'engine_unavailable', undefined],
    ['too many', refused('no', 429, 'RESOURCE_EXHAUSTED', [retryInfo]), 'engine_unavailable', 7.5],
    ['when it is broken', refused('no', 500, 'INTERNAL'), 'engine_error', 0],
    ['when a proxy answers', { rest: { status: 503, body: 'sorry' } }, 'engine_unavailable', 0],
    ['and says nothing of a key', { rest: { status: 200, body: { voice: 'secret' } } }, 'engine_error', undefined],
  ] as [string, GoogleTrouble, string, number | undefined][])('%s', async (_, trouble, reason, retryAfterSeconds) => {
    const { engine, cloning, calls } = await open(trouble);
    const failure = await refusalOf(cloning.make(sampleIn(engine, 'en-US'), signal));
    expect([failure.reason, failure.facts.retryAfterSeconds]).toEqual([reason, retryAfterSeconds]);
    expect(inspect(failure)).not.toContain('secret');
    expect(calls).toHaveLength(1);
  });

  test('is not waited for after an abort', async () => {
    const { engine, cloning, calls } = await open({ firstDelayMs: 60_000 });
    const leaving = new AbortController();
    const making = cloning.make(sampleIn(engine, 'en-US'), leaving.signal).catch((error) => error);
    await expect.poll(() => calls.length).toBe(1);
    leaving.abort(new Error('gone'));
    expect((await making).message).toBe('gone');
    await engine.close();
    expect(await refusalOf(cloning.make(sampleIn(engine, 'en-US'), signal))).toMatchObject({
      reason: 'engine_unavailable',
    });
  });
});

describe('the cloning key is not disclosed', () => {
  const key = Buffer.from('a voice that is somebody’s, and no word of it may be heard of again').toString('base64');

  test('when Google refuses it, and quotes it', async () => {
    const { engine } = await open();
    const speech = engine.speak(clonedSegment(engine, Buffer.from(key), 'en-US'), signal);
    const failure = await refusalOf(Array.fromAsync(speech));
    expect(failure).toMatchObject({ reason: 'engine_error' });
    const logged = inspect(failure, { depth: 20, showHidden: true }) + JSON.stringify(failure);
    expect(logged).toContain('Google answers INVALID_ARGUMENT');
    for (let at = 0; at + 8 <= key.length; at++) expect(logged).not.toContain(key.slice(at, at + 8));
  });

  test('when other things fail', async () => {
    const { engine } = await open({ failures: { count: 1, code: code.INTERNAL, logged: `cannot load ${key}` } });
    const speech = engine.speak(clonedSegment(engine, Buffer.from(key), 'en-US'), signal);
    expect(inspect(await refusalOf(Array.fromAsync(speech)))).not.toContain(key.slice(0, 10));
  });

  test('when Node logs all that it does', async () => {
    const { endpoint, keys, calls } = await openGoogleServer();
    keys.add(key);
    const source = join(import.meta.dirname, '../../src/engines/google/google.ts');
    const script = `
      const { openGoogle } = await import(${JSON.stringify(source)});
      const engine = await openGoogle({ credentials: '', endpoint: '${endpoint}', voices: [],
        segmentsPerMinute: 1, cloneSegmentsPerMinute: 1, segmentsSpokenMax: 1 });
      const segment = { voice: { ...engine.voices[0], languageCodes: ['en-US'] }, text: 'One.', languageCode: 'en-US',
        speakingRate: 1, clone: Buffer.from(process.env.KEY) };
      for await (const _ of engine.speak(segment, new AbortController().signal));
      await engine.close();`;
    const env = {
      ...process.env,
      KEY: key,
      NODE_DEBUG: 'http2,stream,net',
    };
    const args = ['--input-type=module', '-e', script];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1 << 26 });
    expect(calls.at(-1)).toMatchObject({ method: 'stream', voice: { voiceClone: { voiceCloningKey: key } } });
    expect(stderr).toContain('Http2Stream');
    expect(stdout + stderr).not.toContain(key);
  });
});
