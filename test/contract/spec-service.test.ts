// Tests the owner's specification of the service, voices, keys, errors, limits and version, row by row, over REST. Each
// test is named after its row. The rows are counted, so no test can be missing.
import { afterAll, expect, test } from 'vitest';
import { parseApiKey } from '../../src/accounts/keys/api-key.ts';
import { Failure } from '../../src/platform/errors.ts';
import { bytesOf, farVoice, openTestGateway } from '../transports/http/open-gateway.ts';
import { failureFrom, openSpec, rateOf } from './open-spec.ts';

const rowCount = 17;

const { gateway, speak, send, text, chunks, sse, link, buffer } = await openSpec(afterAll);
const withKey = (key: string) => ({ headers: { 'X-API-Key': key } });
const audioEndpoints = [
  ['POST', '/api/audio/speech'],
  ['POST', sse],
  ['GET', sse],
  ['POST', `${sse}/tickets`],
  ['GET', `${sse}/aud_1`],
  ['POST', '/api/audio/estimate'],
  ['DELETE', '/api/audio/aud_1'],
] as const;

const proofs: Record<string, () => Promise<void>> = {
  'The service: converts text into spoken audio with a named voice that the caller picks by identifier': async () => {
    const low = await buffer({ voice_id: 'tone-low', output_format: 'pcm' });
    const high = await buffer({ voice_id: 'tone-high', output_format: 'pcm' });
    expect([low.headers.get('X-Voice'), high.headers.get('X-Voice')]).toEqual(['Tone, low', 'Tone, high']);
    // The lengths differ by a few milliseconds at most: silence is trimmed where each tone becomes audible.
    expect(Math.abs(low.audio.length - high.audio.length)).toBeLessThan(0.01 * 24_000 * 2);
    expect(low.audio.equals(high.audio)).toBe(false);
  },
  'The service 1: two synthesis endpoints exist': async () => {
    expect((await speak({ text })).status).toBe(200);
    expect((await send(sse, { body: { voice_id: 'tone-low', text } })).status).toBe(200);
  },
  'The service 2: REST mode returns a public link or the audio bytes themselves': async () => {
    const { audio_url } = await link({});
    const stored = await fetch(gateway.here(String(audio_url)));
    expect((await bytesOf(stored)).equals((await buffer()).audio)).toBe(true);
  },
  'The service 3: every audio endpoint requires an API key': async () => {
    for (const [method, path] of audioEndpoints) {
      const answer = await fetch(gateway.url + path, { method });
      expect([answer.status, (await failureFrom(answer)).error], `${method} ${path}`).toEqual([401, 'invalid_api_key']);
    }
  },
  'Voice: is looked up by voice_id and has a name, reported as voice_name and X-Voice': async () => {
    const { voiceId: voice_id, name } = farVoice;
    expect((await link({ voice_id })).voice_name).toBe(name);
    const { headers } = await buffer({ voice_id });
    expect([decodeURIComponent(headers.get('X-Voice')!), headers.get('X-Voice-Encoding')]).toEqual([name, 'percent']);
    expect(await failureFrom(send(`/api/voices/${voice_id}`))).toMatchObject({ voice_id, name });
  },
  'API key: is sent in the X-API-Key header': async () => {
    expect((await speak({ text })).status).toBe(200);
    const bearer = { headers: { 'X-API-Key': '', Authorization: `Bearer ${gateway.key}` } };
    expect((await speak({ text }, bearer)).status).toBe(401);
  },
  'API key: is displayed only once, at creation': async () => {
    const { key, apiKey } = await gateway.keyVerifier.create({});
    expect(parseApiKey(key)).toBeDefined();
    const secret = key.slice(15);
    expect(JSON.stringify([apiKey, await gateway.keyVerifier.list()])).not.toContain(secret);
  },
  'API key: can be revoked, and is rejected then': async () => {
    const { key, apiKey } = await gateway.keyVerifier.create({});
    expect((await speak({ text }, withKey(key))).status).toBe(200);
    await gateway.keyVerifier.revoke(apiKey.keyId);
    expect((await speak({ text }, withKey(key))).status).toBe(401);
  },
  'Authentication 1: every audio endpoint requires the header X-API-Key': async () => {
    for (const [method, path] of audioEndpoints) {
      const answer = await fetch(`${gateway.url}${path}?api_key=${gateway.key}`, {
        method,
        headers: { Cookie: `X-API-Key=${gateway.key}` },
      });
      expect(answer.status, `${method} ${path}`).toBe(401);
    }
  },
  'Authentication 3: a key can lack the scopes that an endpoint needs': async () => {
    const [rest, streaming] = [await gateway.makeKey(['speech:synthesize']), await gateway.makeKey(['speech:stream'])];
    const statusOf = async (body: object, key: string) => (await speak(body, withKey(key))).status;
    expect(await Promise.all([statusOf({ text }, rest), statusOf(chunks, rest)])).toEqual([200, 403]);
    expect(await Promise.all([statusOf({ text }, streaming), statusOf(chunks, streaming)])).toEqual([403, 200]);
  },
  'Errors: 401 invalid_api_key, API key missing or malformed': async () => {
    for (const key of [
      '',
      'nonsense',
      'snt_',
      `${gateway.key}x`,
      gateway.key.slice(0, -1),
      gateway.key.toLowerCase(),
      `${gateway.key}, ${gateway.key}`,
    ]) {
      const answer = await speak({ text }, withKey(key));
      expect([answer.status, (await failureFrom(answer)).error], key).toEqual([401, 'invalid_api_key']);
    }
  },
  'Errors: 401 invalid_api_key, API key not found or revoked': async () => {
    const { key, apiKey } = await gateway.keyVerifier.create({});
    await gateway.keyVerifier.revoke(apiKey.keyId);
    const elsewhere = await (await openTestGateway()).makeKey();
    const failures = await Promise.all(
      [key, elsewhere, 'nonsense'].map(async (presented) => {
        const answer = await speak({ text }, { headers: { 'X-API-Key': presented, 'X-Request-Id': 'same' } });
        return { status: answer.status, body: await answer.text(), challenge: answer.headers.get('WWW-Authenticate') };
      }),
    );
    expect(JSON.parse(failures[0]!.body)).toMatchObject({ error: 'invalid_api_key', status: 401 });
    expect(failures[1]).toEqual(failures[0]);
    expect(failures[2]).toEqual(failures[0]);
  },
  'Errors: 403 insufficient_scope, API key lacks the required scopes': async () => {
    const answer = await speak(chunks, withKey(await gateway.makeKey(['speech:synthesize'])));
    expect([answer.status, await failureFrom(answer)]).toMatchObject([
      403,
      { error: 'insufficient_scope', required_scopes: ['speech:stream'] },
    ]);
  },
  'Errors: 429 rate_limit_exceeded, too many requests': async () => {
    const failure = new Failure('rate_limit_exceeded', { limitReason: 'requests', retryAfterSeconds: 3 });
    const busy = await openTestGateway({ admit: () => () => Promise.reject(failure) });
    const answer = await busy.speak({ text });
    expect([answer.status, answer.headers.get('Retry-After'), (await failureFrom(answer)).error]).toEqual([
      429,
      '3',
      'rate_limit_exceeded',
    ]);
  },
  'Limits: text length, about 5000 characters in REST mode': async () => {
    const fits = await send('/api/audio/estimate', { body: { voice_id: 'tone-low', text: 'é😀 ab'.repeat(1000) } });
    expect([fits.status, (await failureFrom(fits)).chars]).toEqual([200, 5000]);
    const answer = await speak({ text: 'x'.repeat(5001) });
    expect([answer.status, await failureFrom(answer)]).toMatchObject([
      400,
      { error: 'text_too_long', limit: 5000, actual: 5001 },
    ]);
  },
  'Limits: sample rates, 24000, 44100, 48000 Hz': async () => {
    for (const sample_rate of [24000, 44100, 48000]) {
      const { headers, audio } = await buffer({ sample_rate, output_format: 'pcm' });
      expect(rateOf(audio, Number(headers.get('X-Audio-Duration')))).toBeCloseTo(sample_rate, -1);
    }
  },
  'Versioning: the API version is 1.0.0': async () => {
    for (const path of ['/healthz', '/nothing', '/api/voices'])
      expect((await send(path)).headers.get('X-API-Version')).toBe('1.0.0');
    expect(await failureFrom(send('/openapi.json'))).toMatchObject({ info: { version: '1.0.0' } });
  },
};

test.each(Object.entries(proofs))('%s', (_, prove) => prove());

test('no row is missing', () => {
  expect(Object.keys(proofs)).toHaveLength(rowCount);
});
