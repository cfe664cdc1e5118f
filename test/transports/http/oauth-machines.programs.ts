// Tests machines that request a bearer token, with their own credentials or with a token from a real OpenID Connect
// server, and every reason for a refusal.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { openSignInGateway } from './oidc-server.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const clients = [`ci:${sha256('the secret of ci')}`, `other:${sha256('x:y z')}`];
const signInRules = { subjects: ['robot'], domains: ['example.test'], groups: ['speakers'] };
const gateway = await openSignInGateway({ clients, signInRules }, {}, afterAll);
const { token, exchange, withBearer } = gateway;
const keys = '/api/auth/api-keys';

describe('a machine', () => {
  const basic = (id: string, secret: string) => ({
    Authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
  });
  const grant_type = 'client_credentials';

  test.each([
    ['HTTP Basic', {}, basic('ci', 'the secret of ci')],
    ['HTTP Basic with odd characters', {}, basic('other', 'x:y z')],
    ['the body', { client_id: 'ci', client_secret: 'the secret of ci' }, {}],
  ])(
    'a machine gets a token that can manage keys and cannot be used for speech: credentials in %s',
    async (_, fields, headers) => {
      const { status, headers: told, json } = await token({ grant_type, ...fields }, headers);
      expect([status, told.get('Cache-Control'), told.get('Pragma')]).toEqual([200, 'no-store', 'no-cache']);
      expect(json).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'keys:read keys:write',
      });
      const made = await withBearer(json.access_token, keys, { method: 'POST' });
      const { key } = (await made.json()) as { key: string };
      expect(made.status).toBe(201);
      expect((await gateway.send('/api/voices', { headers: { 'X-API-Key': key } })).status).toBe(200);
      for (const [path, error] of [
        ['/api/voices', 'invalid_api_key'],
        ['/api/audio/speech/sse', 'invalid_api_key'],
        ['/api/auth/api-keys/self', 'invalid_api_key'],
      ]) {
        const answer = await withBearer(json.access_token, path);
        expect([answer.status, await answer.json()]).toMatchObject([401, { error }]);
      }
    },
  );

  test.each([
    ['keys:read', 'keys:read', 200, 403],
    ['keys:write', 'keys:write', 403, 201],
    ['keys:write keys:read', 'keys:read keys:write', 200, 201],
    ['', 'keys:read keys:write', 200, 201],
  ])('that asks for the scope "%s" gets a token with "%s"', async (scope, granted, reads, writes) => {
    const credentials = { client_id: 'ci', client_secret: 'the secret of ci' };
    const byClient = await token({ grant_type, ...credentials, scope });
    const byToken = await exchange(await gateway.sign({ sub: 'robot' }), { scope });
    for (const { status, json } of [byClient, byToken]) {
      expect([status, json.scope]).toEqual([200, granted]);
      expect((await withBearer(json.access_token)).status).toBe(reads);
      expect((await withBearer(json.access_token, keys, { method: 'POST' })).status).toBe(writes);
    }
  });

  test.each(['speech:stream', 'keys:read admin', 'KEYS:READ', '*'])(
    'that asks for the scope "%s" is refused',
    async (scope) => {
      const credentials = { client_id: 'ci', client_secret: 'the secret of ci' };
      const byClient = await token({ grant_type, ...credentials, scope });
      const byToken = await exchange(await gateway.sign({ sub: 'robot' }), { scope });
      for (const { status, json } of [byClient, byToken])
        expect([status, json]).toMatchObject([
          400,
          { error: 'invalid_scope', error_description: /keys:read keys:write/ },
        ]);
      const unknown = await token({ grant_type, client_id: 'ci', client_secret: 'wrong', scope });
      expect([unknown.status, unknown.json.error]).toEqual([401, 'invalid_client']);
    },
  );

  test('has its token of the issuer exchanged', async () => {
    const { status, json } = await exchange(await gateway.sign({ sub: 'robot' }));
    const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token';
    expect([status, json]).toMatchObject([200, { token_type: 'Bearer', expires_in: 900, issued_token_type }]);
    expect((await withBearer(json.access_token)).status).toBe(200);
    const member = await exchange(await gateway.sign({ sub: 'someone', groups: ['speakers'] }));
    expect(member.status).toBe(200);
  });

  test.each([
    ['of another audience', { aud: 'https://else.example' }, {}],
    ['of another issuer', { iss: 'https://else.example' }, {}],
    ['that is over', {}, { seconds: -60 }],
    ['that is not good yet', { nbf: Math.floor(Date.now() / 1000) + 600 }, {}],
    ['of a subject that nobody knows', { sub: 'eve' }, {}],
    ['without a subject', { sub: undefined }, {}],
    ['signed by somebody else', {}, { isForged: true }],
    ['of an address that is not proved', { sub: 'x', email: 'x@example.test' }, {}],
  ])('is refused with a token %s', async (_, claims, how) => {
    const subject = await gateway.sign({ sub: 'robot', ...(claims as Record<string, unknown>) }, how);
    const { status, json } = await exchange(subject);
    expect([status, json.error, typeof json.error_description]).toEqual([400, 'invalid_request', 'string']);
  });

  test('is refused with a token that was changed, and with none at all', async () => {
    const signed = await gateway.sign({ sub: 'robot' });
    const [head, , signature] = signed.split('.');
    const payload = Buffer.from(JSON.stringify({ iss: gateway.issuerUrl, sub: 'robot', exp: 2e9 })).toString(
      'base64url',
    );
    for (const wrong of [`${head}.${payload}.${signature}`, `${signed.slice(0, -4)}AAAA`, 'x', `e30.${payload}.`])
      expect((await exchange(wrong)).json.error).toBe('invalid_request');
    expect((await exchange('')).json.error).toBe('invalid_request');
  });

  test.each([
    [{}, {}, 400, 'invalid_request'],
    [{ grant_type: 'password' }, {}, 400, 'unsupported_grant_type'],
    [{ grant_type }, {}, 401, 'invalid_client'],
    [{ grant_type }, basic('ci', 'wrong'), 401, 'invalid_client'],
    [{ grant_type }, basic('nobody', 'the secret of ci'), 401, 'invalid_client'],
    [{ grant_type, client_id: 'ci' }, {}, 401, 'invalid_client'],
  ])('that asks with %j %j hears %i %s', async (fields, headers, status, error) => {
    const answer = await token(fields as Record<string, string>, headers as Record<string, string>);
    expect([answer.status, answer.json]).toEqual([status, { error, error_description: expect.any(String) }]);
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    if (status === 401) expect(answer.headers.get('WWW-Authenticate')).toMatch(/^Basic/);
  });

  test.each(['x', 'Zm9v', ''])('is refused with the bearer token %j', async (bearer) => {
    const answer = await withBearer(bearer);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ error: bearer === '' ? 'invalid_api_key' : 'invalid_token' });
  });

  test('is told that an API key is no bearer token', async () => {
    const answer = await withBearer(gateway.key);
    const message = expect.stringContaining('X-API-Key');
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: 'invalid_token', message }]);
  });

  test('is believed when the issuer has changed its key', async () => {
    expect((await exchange(await gateway.sign({ sub: 'robot' }))).status).toBe(200);
    await gateway.rotateKey();
    await sleep(1_100);
    expect((await exchange(await gateway.sign({ sub: 'robot' }))).status).toBe(200);
  });
});

describe('a form', () => {
  const post = (body: string | ReadableStream, headers: Record<string, string> = {}, url = gateway.url) => {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const init = { method: 'POST', body, headers: { ...type, ...headers }, duplex: 'half' };
    return fetch(`${url}/oauth/get-key`, init as RequestInit);
  };
  const large = `grant_type=client_credentials&client_id=${'x'.repeat(32 * 1024)}`;

  test.each([
    ['with its length', () => large],
    ['in chunks', () => new Blob([large]).stream()],
  ])('that is too large, %s, is refused as such, and counts as a failed attempt', async (_, body) => {
    const limited = await openSignInGateway({ clients }, { badKeysPerMinute: 1 });
    const answer = await post(body(), {}, limited.url);
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: 'payload_too_large', limit: 32 * 1024 }]);
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect((await post('grant_type=password', {}, limited.url)).status).toBe(429);
    expect(limited.faults).toEqual([]);
  });

  test.each([
    ['is compressed', 'identity', { 'Content-Encoding': 'gzip' }],
    [
      'is in another encoding',
      'application/x-www-form-urlencoded',
      { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-16' },
    ],
  ])('that %s is refused as such, with what is accepted: %s', async (_, accepted, headers) => {
    const answer = await post('grant_type=password', headers);
    const message = expect.stringContaining(accepted);
    expect([answer.status, await answer.json()]).toMatchObject([415, { error: 'unsupported_media_type', message }]);
  });

  test('that names its encoding is read', async () => {
    const answer = await post('grant_type=password', {
      'Content-Type': 'application/x-www-form-urlencoded; charset="UTF-8"',
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'unsupported_grant_type' }]);
  });
});

test('a client that guesses secrets is blocked, even with the right one', async () => {
  const guessed = await openSignInGateway({ clients }, { badKeysPerMinute: 5 });
  const send = async (client_secret: string) =>
    (await guessed.token({ grant_type: 'client_credentials', client_id: 'ci', client_secret })).status;
  for (let i = 0; i < 5; i++) expect(await send('wrong')).toBe(401);
  expect([await send('wrong'), await send('the secret of ci')]).toEqual([429, 429]);
});
