// Tests clones at Google: the key is created over REST, used over gRPC, and revealed to nobody. Also tests that doctor
// reports Google's faults but no secret, and that text is cut within Google's limits, with none of it lost.
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify, inspect as toText } from 'node:util';
import { status as code } from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import type { CloneSample, Engine, Voice } from '../../src/engines/engine.ts';
import { google, openGoogle } from '../../src/engines/google/google.ts';
import { cutText } from '../../src/engines/google/google-speech.ts';
import { listen } from '../free-port.ts';
import { newFolder } from '../new-folder.ts';
import { type GoogleTrouble, googleOptions, openAtGoogle, openGoogleServer } from './google-server.ts';
import { segmentOf } from './open-guard.ts';
import { rejection } from './rejection.ts';

const signal = new AbortController().signal;
const pcm = { samples: Int16Array.from({ length: 24_000 }, (_, n) => 9_000 * Math.sin(n / 20)), sampleRateHz: 24_000 };

async function open(trouble?: GoogleTrouble) {
  const opened = await openAtGoogle(trouble);
  return { ...opened, cloning: opened.engine.cloning! };
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
    const failure = await rejection(cloning.make(sampleIn(engine, 'en-US'), signal));
    expect(failure).toMatchObject({ reason: 'invalid_request', facts: { details: [{ field }] } });
    expect(JSON.stringify(failure.facts) + failure.message).not.toContain(logged);
    expect((failure.cause as Error).message).toBe('Google answers INVALID_ARGUMENT');
  });

  test('is a consent statement other than its own', async () => {
    const { engine, cloning } = await open();
    const failure = await rejection(cloning.make(sampleIn(engine, 'en-US', { consentScript: 'Sure.' }), signal));
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
    const failure = await rejection(cloning.make(sampleIn(engine, 'en-US'), signal));
    expect([failure.reason, failure.facts.retryAfterSeconds]).toEqual([reason, retryAfterSeconds]);
    expect(toText(failure)).not.toContain('secret');
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
    expect(await rejection(cloning.make(sampleIn(engine, 'en-US'), signal))).toMatchObject({
      reason: 'engine_unavailable',
    });
  });
});

describe('the cloning key is not disclosed', () => {
  const key = Buffer.from('a voice that is somebody’s, and no word of it may be heard of again').toString('base64');

  test('when Google refuses it, and quotes it', async () => {
    const { engine } = await open();
    const speech = engine.speak(clonedSegment(engine, Buffer.from(key), 'en-US'), signal);
    const failure = await rejection(Array.fromAsync(speech));
    expect(failure).toMatchObject({ reason: 'engine_error' });
    const logged = toText(failure, { depth: 20, showHidden: true }) + JSON.stringify(failure);
    expect(logged).toContain('Google answers INVALID_ARGUMENT');
    for (let at = 0; at + 8 <= key.length; at++) expect(logged).not.toContain(key.slice(at, at + 8));
  });

  test('when other things fail', async () => {
    const { engine } = await open({ failures: { count: 1, code: code.INTERNAL, logged: `cannot load ${key}` } });
    const speech = engine.speak(clonedSegment(engine, Buffer.from(key), 'en-US'), signal);
    expect(toText(await rejection(Array.fromAsync(speech)))).not.toContain(key.slice(0, 10));
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

const settings = googleOptions('texttospeech.googleapis.com');
const inspect = (more: Partial<typeof settings>) => google.inspect({ ...settings, ...more } as never, '');

const folder = newFolder(afterAll);
const fileOf = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('doctor says', () => {
  test('that it is absent where nobody named a login', async () => {
    expect(await inspect({})).toMatchObject({ state: 'absent' });
    expect(await google.open(settings as never, '')).toBeUndefined();
  });

  test('that it is ready', async () => {
    const { endpoint } = await openGoogleServer();
    expect(await inspect({ endpoint })).toEqual({ state: 'ready', message: `${endpoint}, 3 voices` });
  });

  test('which file of credentials cannot be read, or is none', async () => {
    const nowhere = join(folder, 'nowhere.json');
    expect(await inspect({ credentials: nowhere })).toEqual({
      state: 'broken',
      message: `SONANT_GOOGLE_CREDENTIALS: ${nowhere} cannot be read: no such file or folder`,
    });
    for (const text of ['-----BEGIN PRIVATE KEY----- hush', '{"private_key":"hush"}', 'null', '[]', '']) {
      const report = await inspect({ credentials: fileOf('bad.json', text) });
      expect(report).toMatchObject({
        state: 'broken',
        message: expect.stringContaining('is not the JSON key file of a Google service'),
      });
      expect(report.message).not.toMatch(/hush|PRIVATE/);
    }
  });

  test('that the environment has no login', async () => {
    process.env.GOOGLE_APPLICATION_CREDENTIALS = join(folder, 'nowhere.json');
    const report = await inspect({ credentials: 'adc' });
    delete process.env.GOOGLE_APPLICATION_CREDENTIALS;
    expect(report).toEqual({
      state: 'broken',
      message: 'SONANT_GOOGLE_CREDENTIALS is adc, but this environment has no Google login',
    });
  });

  test.each([
    ['refused', 400, '{"error":"invalid_grant"}', 'cannot sign in: status 400, invalid_grant', undefined],
    ['not answered now', 0, '', 'cannot sign in: the connection was closed', 0],
  ])('that the login is %s', async (_, status, body, message, retryAfterSeconds) => {
    const tokens = createServer((request, response) =>
      status ? response.writeHead(status, { 'Content-Type': 'application/json' }).end(body) : request.socket.destroy(),
    );
    const port = await listen(tokens);
    const account = {
      type: 'external_account',
      audience: '//iam.example/pool',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://127.0.0.1:${port}/`,
      credential_source: { file: fileOf('token', 'any') },
    };
    process.env.GOOGLE_APPLICATION_CREDENTIALS = fileOf('account.json', JSON.stringify(account));
    const opened = openGoogle({ ...settings, credentials: 'adc', endpoint: '127.0.0.1:9', isListNeeded: true });
    const failure = await opened.catch((error) => error);
    delete process.env.GOOGLE_APPLICATION_CREDENTIALS;
    tokens.close();
    expect(failure).toMatchObject({
      reason: 'engine_unavailable',
      cause: { message: expect.stringContaining(message) },
    });
    expect(failure.facts.retryAfterSeconds).toBe(retryAfterSeconds);
  });

  test('that Google cannot be reached, though there is a login', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const account = { type: 'service_account', client_email: 'a@b.example', private_key_id: 'id', private_key: pem };
    const credentials = fileOf('good.json', JSON.stringify(account));
    const report = await inspect({ credentials, endpoint: '127.0.0.1:9' });
    expect(report).toMatchObject({ state: 'broken', message: expect.stringContaining('127.0.0.1:9: Google answers') });
  });

  test('that Google refuses the login, or has no such voice', async () => {
    const { endpoint, state } = await openGoogleServer();
    state.trouble = { failures: { count: 1, code: code.UNAUTHENTICATED, logged: 'The token has expired.' } };
    expect(await inspect({ endpoint })).toEqual({
      state: 'broken',
      message: `${endpoint}: Google answers UNAUTHENTICATED`,
    });
    const report = await inspect({ endpoint, voices: ['tlh'] });
    expect(report).toEqual({ state: 'broken', message: 'Google lists none of the voices of SONANT_GOOGLE_VOICES' });
  });
});

const usual = { bytesMax: 4_800, sentenceBytesMax: 500 };
const bytesOf = (text: string) => Buffer.byteLength(text);
const cut = (text: string, limits = usual) => {
  const pieces = cutText(text, limits);
  expect(pieces.join('')).toBe(text);
  for (const piece of pieces) expect(bytesOf(piece)).toBeLessThanOrEqual(limits.bytesMax);
  return pieces;
};

describe('text is cut', () => {
  test('not at all where it fits', () => {
    expect(cut('')).toEqual([]);
    expect(cut('One. Two.')).toEqual(['One. Two.']);
    expect(cut(`${'word '.repeat(95)}end.`)).toHaveLength(1);
  });

  test('between sentences, as few pieces as will do', () => {
    const sentence = 'The boat left the harbour early. ';
    const pieces = cut(sentence.repeat(300));
    expect(pieces).toHaveLength(3);
    for (const piece of pieces) expect(piece).toMatch(/^The .*early\. $/s);
    expect(cut('天还没亮，那条船就早早地离开了港口。'.repeat(100)).every((piece) => piece.endsWith('。'))).toBe(true);
  });

  test('within a sentence that is too long, at its clauses; one with what comes before it, apart from its rest', () => {
    const long = `${'and so it went, as it had gone before, '.repeat(14)}until it ended.`;
    const pieces = cut(`Listen. ${long} Then rest.`);
    expect(pieces).toHaveLength(2);
    expect(pieces[0]).toMatch(/^Listen\. and .*, $/);
    expect(pieces[1]).toMatch(/^as it had .*ended\. Then rest\.$/);
  });

  test('between words where there is no clause, and in a word where there is none', () => {
    for (const piece of cut('word '.repeat(500)).slice(0, -1)) expect(piece).toMatch(/^word .*word $/);
    expect(cut('a'.repeat(1_200)).map(bytesOf)).toEqual([500, 500, 200]);
    // Thai has words, but no spaces between them.
    const thai = cut('เรือออกจากท่าแต่เช้า'.repeat(100), { bytesMax: 120, sentenceBytesMax: 120 });
    const words = [...new Intl.Segmenter('th', { granularity: 'word' }).segment('เรือออกจากท่าแต่เช้า')];
    const starts = words.map(({ segment }) => segment);
    for (const piece of thai) expect(starts.some((word) => piece.startsWith(word))).toBe(true);
  });

  test('never in what a reader sees as one character, while that fits', () => {
    const family = '👩‍👩‍👧‍👦';
    for (const piece of cut(family.repeat(100), { bytesMax: 60, sentenceBytesMax: 60 }))
      expect(piece).toBe(family.repeat(2));
    const accents = `Z${'\u0301'.repeat(300)}`;
    expect(cut(accents).every((piece) => piece.isWellFormed())).toBe(true);
  });
});

describe('nothing is lost of', () => {
  const letters = Array.from({ length: 5_000 }, (_, n) => String.fromCharCode(97 + ((n * 7) % 26))).join('');
  test.each([
    ['5000 code points of CJK', Array.from({ length: 5_000 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('')],
    ['5000 rare ones', Array.from({ length: 5_000 }, (_, n) => String.fromCodePoint(0x20000 + n)).join('')],
    ['5000 emoji', Array.from({ length: 5_000 }, (_, n) => String.fromCodePoint(0x1f400 + (n % 200))).join('')],
    ['one word of 5000 letters', letters],
    ['5000 letters with a space here and there', letters.replaceAll('q', ' ')],
    ['5000 spaces', ' '.repeat(5_000)],
    ['5000 new lines', '\n'.repeat(5_000)],
    ['5000 full stops', '.'.repeat(5_000)],
    ['lone surrogates', '\ud800x\udc00'.repeat(1_000)],
    ['mixed scripts', 'Good morning. Доброе утро! 早上好。 สวัสดี 👋🏽 '.repeat(150)],
  ])('%s', (_, text) => {
    for (const bytesMax of [4_800, 500, 200, 61]) {
      const pieces = cut(text, { bytesMax, sentenceBytesMax: Math.min(500, bytesMax) });
      if (text.isWellFormed()) expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
      expect(pieces.every((piece) => piece !== '')).toBe(true);
    }
  });

  test.each([496, 497, 498, 499, 500])('a surrogate pair that begins at byte %i of 500', (before) => {
    const pieces = cut(`${'a'.repeat(before)}😀${'b'.repeat(50)}`);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(pieces).toHaveLength(2);
  });
});
