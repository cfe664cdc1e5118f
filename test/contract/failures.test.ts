// Tests that every failure in the failure table reaches REST clients: by its real cause if possible, otherwise by the
// tone engine or a replaced admission. The rows are a type, so the test does not compile if a row is missing.
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createIssuer } from '../../src/accounts/sign-in/oidc-issuer.ts';
import { Failure, failureTable, type Reason } from '../../src/platform/errors.ts';
import { openTestGateway } from '../transports/http/open-gateway.ts';

let refusal: Error | undefined;
const gateway = await openTestGateway(
  {
    admit:
      (real) =>
      (...call) =>
        refusal ? Promise.reject(refusal) : real(...call),
    trouble: {},
  },
  afterAll,
);
/** The issuer's address has no listener. */
const issuer = createIssuer({
  issuer: 'http://127.0.0.1:1',
  clientId: 'sonant',
  clientSecret: '',
  audience: 'sonant',
  isInsecure: true,
});
const withoutIssuer = await openTestGateway({ signing: { issuer } }, afterAll);
const brief = await openTestGateway({ retentionMs: 1 }, afterAll);
const { send, speak } = gateway;

beforeEach(async () => {
  refusal = undefined;
  delete gateway.tone.trouble.failsAfterSegments;
  // A success between the failures keeps the engine's circuit breaker closed.
  await speak(fresh());
}, 10_000);

let texts = 0;
/** A text that is not cached. */
const fresh = () => ({ text: `Text number ${texts++}.` });
const byEngine = (failure: Error) => () => {
  Object.assign(gateway.tone.trouble, { failsAfterSegments: 0, failure });
  return speak(fresh());
};
const byAdmission = (reason: Reason) => () => {
  refusal = new Failure(reason);
  return speak(fresh());
};
const byStore = (reason: Reason) => async () => {
  const { create } = gateway.clips;
  gateway.clips.create = () => Promise.reject(new Failure(reason));
  const answer = await speak(fresh());
  gateway.clips.create = create;
  return answer;
};
const raisedBy: Record<Reason, () => Promise<Response>> = {
  invalid_request: () => speak({}),
  text_too_long: () => speak({ text: 'x'.repeat(5001) }),
  invalid_api_key: () => speak(fresh(), { headers: { 'X-API-Key': 'snt_' } }),
  invalid_token: () => fetch(`${gateway.url}/api/auth/api-keys`, { headers: { Authorization: 'Bearer nonsense' } }),
  insufficient_scope: async () => speak(fresh(), { headers: { 'X-API-Key': await gateway.makeKey(['voices:read']) } }),
  access_denied: byAdmission('access_denied'),
  voice_not_found: () => speak({ ...fresh(), voice_id: 'nobody' }),
  not_found: () => send('/nothing'),
  method_not_allowed: () => send('/api/voices', { method: 'DELETE' }),
  voice_not_ready: byEngine(new Failure('voice_not_ready')),
  request_timeout: async () => {
    const headers = { 'X-API-Key': gateway.key, 'Content-Type': 'application/json' };
    const sent = request(`${gateway.url}/api/audio/speech`, { method: 'POST', headers }).on('error', () => {});
    sent.flushHeaders();
    const [reply] = (await once(sent, 'response')) as [IncomingMessage];
    return new Response(await text(reply), {
      status: reply.statusCode!,
      headers: reply.headers as Record<string, string>,
    });
  },
  idempotency_conflict: async () => {
    const headers = { 'Idempotency-Key': 'one' };
    await (await speak(fresh(), { headers })).arrayBuffer();
    return speak(fresh(), { headers });
  },
  audio_expired: async () => {
    const { audio_url } = (await (await brief.speak(fresh())).json()) as { audio_url: string };
    return brief.send(audio_url);
  },
  stream_expired: () => send('/api/audio/speech/sse/aud_GONE'),
  precondition_failed: async () => {
    const { audio_url } = (await (await speak(fresh())).json()) as { audio_url: string };
    return send(audio_url, { headers: { 'If-Match': '"another"' } });
  },
  payload_too_large: () => speak({ text: 'x'.repeat(1 << 20) }),
  unsupported_media_type: () => speak(fresh(), { headers: { 'Content-Type': 'text/plain' } }),
  range_not_satisfiable: async () => {
    const { audio_url } = (await (await speak(fresh())).json()) as { audio_url: string };
    return send(audio_url, { headers: { Range: 'bytes=9999999-' } });
  },
  rate_limit_exceeded: byAdmission('rate_limit_exceeded'),
  internal_error: byEngine(new TypeError('a bug')),
  // Only OpenAI's API has this failure, in the form of its errors.
  not_supported: async () => {
    const { PATH } = process.env;
    process.env.PATH = '/nonexistent';
    const body = { model: 'tts-1', voice: 'tone-low', input: 'Hello.', response_format: 'aac' };
    const answer = await send('/v1/audio/speech', { method: 'POST', body });
    process.env.PATH = PATH;
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    const request_id = answer.headers.get('X-Request-Id');
    const fields = { error: error.code, status: answer.status, request_id, message: error.message };
    return new Response(JSON.stringify(fields), { status: answer.status, headers: answer.headers });
  },
  engine_error: byEngine(new Failure('engine_error')),
  engine_unavailable: byEngine(new Failure('engine_unavailable')),
  overloaded: byEngine(new Failure('overloaded', { retryAfterSeconds: 7 })),
  oauth_not_configured: () => send('/oauth/get-key', { headers: { Accept: 'application/json' } }),
  temporarily_unavailable: () => withoutIssuer.send('/oauth/get-key', { headers: { Accept: 'application/json' } }),
  engine_timeout: byEngine(new Failure('engine_timeout')),
  storage_unavailable: byStore('storage_unavailable'),
  storage_full: byStore('storage_full'),
};

test.each(Object.entries(raisedBy) as [Reason, () => Promise<Response>][])('%s', async (reason, raise) => {
  const { status, retryable } = failureTable[reason];
  const answer = await raise();
  const id = answer.headers.get('X-Request-Id');
  expect(await answer.json()).toMatchObject({
    error: reason,
    status,
    request_id: id,
    message: expect.stringMatching(/\w/),
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('Cache-Control')).toBe('no-store');
  expect(/^[1-9]\d*$/.test(answer.headers.get('Retry-After') ?? '')).toBe(retryable);
});

test('no row is missing', () => {
  expect(Object.keys(raisedBy)).toEqual(Object.keys(failureTable));
});
