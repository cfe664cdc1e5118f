// Tests each kind of Google credentials against servers on loopback that speak Google's protocols.
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openGoogleLogin } from '../../src/engines/google/google-login.ts';
import { listen } from '../free-port.ts';
import { newFolder } from '../new-folder.ts';

const scope = 'https://www.googleapis.com/auth/cloud-platform';
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const privatePem = keys.privateKey.export({ type: 'pkcs8', format: 'pem' });

let folder: string;
beforeEach(() => {
  folder = newFolder();
  vi.stubEnv('CLOUDSDK_CONFIG', folder);
  for (const name of ['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_QUOTA_PROJECT', 'GCE_METADATA_HOST'])
    vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

const save = (name: string, content: object | string) => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};
const openAdc = (content: object | string) => {
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', save('adc.json', content));
  return openGoogleLogin('adc');
};

interface Asked extends Pick<IncomingMessage, 'method' | 'url' | 'headers'> {
  body: string;
}
type Answer = (asked: Asked, response: ServerResponse) => unknown;

/** Answers each request with the JSON that `answer` returns, unless it has answered itself. */
async function openServer(answer: Answer) {
  const requests: Asked[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const asked = { method, url, headers, body: await readText(request) };
    requests.push(asked);
    const json = await answer(asked, response);
    if (json === undefined || response.writableEnded) return;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(json));
  });
  const serverPort = await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${serverPort}`;
  return {
    host,
    url: `http://${host}`,
    requests,
    form: (at = 0) => Object.fromEntries(new URLSearchParams(requests[at]!.body)),
  };
}
const grant = (access_token: string, expires_in = 3599) => ({ access_token, expires_in, token_type: 'Bearer' });
const user = (url: string, more = {}) => ({
  type: 'authorized_user',
  client_id: 'client',
  client_secret: 'client-hush',
  refresh_token: 'refresh-hush',
  token_uri: `${url}/token`,
  ...more,
});
const federated = (url: string, credential_source: object, more = {}) => ({
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${url}/v1/token`,
  credential_source,
  ...more,
});

test('A service account signs its own tokens, which its key verifies', async () => {
  const account = {
    type: 'service_account',
    client_email: 'voice@project.example',
    private_key_id: 'key-1',
    private_key: privatePem,
    quota_project_id: 'payer',
  };
  const beforeSeconds = Math.floor(Date.now() / 1000);
  for (const login of [await openGoogleLogin(save('key.json', account)), await openAdc(account)]) {
    const headers = await login();
    expect(headers.get('x-goog-user-project')).toBe('payer');
    const jwt = headers.get('authorization')!.replace(/^Bearer /, '');
    const [header, claims, signature] = jwt.split('.') as [string, string, string];
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(decode(header)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' });
    const { iat, exp, ...rest } = decode(claims);
    expect(rest).toEqual({ iss: account.client_email, sub: account.client_email, scope });
    expect(exp - iat).toBe(3600);
    expect(iat).toBeGreaterThanOrEqual(beforeSeconds);
    const verifier = createVerify('RSA-SHA256').update(`${header}.${claims}`);
    expect(verifier.verify(keys.publicKey, signature, 'base64url')).toBe(true);
    // The token is signed once.
    expect((await login()).get('authorization')).toBe(`Bearer ${jwt}`);
  }
});

test('A user of gcloud signs in once for many calls, and the quota project is stated', async () => {
  const server = await openServer(() => grant('user-token'));
  save('application_default_credentials.json', user(server.url, { quota_project_id: 'payer' }));
  const login = await openGoogleLogin('adc');
  for (const headers of [...(await Promise.all([login(), login(), login()])), await login()])
    expect(Object.fromEntries(headers)).toEqual({ authorization: 'Bearer user-token', 'x-goog-user-project': 'payer' });
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]).toMatchObject({ method: 'POST', url: '/token' });
  expect(server.requests[0]!.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
  const { client_id, client_secret, refresh_token } = user('');
  expect(server.form()).toEqual({ client_id, client_secret, refresh_token, grant_type: 'refresh_token' });
});

test('A token is replaced before it expires, and stays in use if that fails', async () => {
  let count = 0;
  const replaced = Promise.withResolvers<void>();
  const server = await openServer((_, response) => {
    count++;
    if (count === 1) return grant('old', 120);
    if (count === 3) replaced.resolve();
    return count === 2 ? response.writeHead(503).end() : grant('new');
  });
  const login = await openAdc(user(server.url));
  expect((await login()).get('authorization')).toBe('Bearer old');
  // These calls do not wait for the requests that they start.
  while (count < 3) {
    expect((await login()).get('authorization')).toBe('Bearer old');
    await new Promise(setImmediate);
  }
  await replaced.promise;
  await vi.waitFor(async () => expect((await login()).get('authorization')).toBe('Bearer new'));
  await login();
  expect(count).toBe(3);
});

test('A token that is about to expire is not used', async () => {
  let count = 0;
  const server = await openServer(() => grant(`token-${++count}`, 5));
  const login = await openAdc(user(server.url));
  expect((await login()).get('authorization')).toBe('Bearer token-1');
  expect((await login()).get('authorization')).toBe('Bearer token-2');
});

test('Machines of Google get tokens from the metadata server', async () => {
  const server = await openServer(({ headers }, response) =>
    headers['metadata-flavor'] === 'Google' ? grant('machine-token') : response.writeHead(403).end(),
  );
  vi.stubEnv('GCE_METADATA_HOST', server.host);
  const login = await openGoogleLogin('adc');
  expect((await login()).get('authorization')).toBe('Bearer machine-token');
  const { pathname, searchParams } = new URL(server.requests[0]!.url!, server.url);
  expect(pathname).toBe('/computeMetadata/v1/instance/service-accounts/default/token');
  expect(searchParams.get('scopes')).toBe(scope);
});

test('Other machines have no login', async () => {
  const server = await openServer((_, response) => response.writeHead(404).end());
  vi.stubEnv('GCE_METADATA_HOST', server.host);
  await expect(openGoogleLogin('adc')).rejects.toMatchObject({
    reason: 'engine_unavailable',
    facts: { message: 'SONANT_GOOGLE_CREDENTIALS is adc, but this environment has no Google login' },
  });
});

test('A workload exchanges the token of its own issuer, from a file', async () => {
  const server = await openServer(() => grant('federated-token'));
  const account = federated(server.url, { file: save('token', 'subject-1\n') });
  const login = await openAdc(account);
  expect((await login()).get('authorization')).toBe('Bearer federated-token');
  expect(server.requests[0]).toMatchObject({ method: 'POST', url: '/v1/token' });
  expect(server.form()).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    audience: account.audience,
    scope,
    subject_token_type: account.subject_token_type,
    subject_token: 'subject-1',
  });
});

test('A workload gets its token from a URL, and acts as a service account', async () => {
  const impersonation = '/v1/projects/-/serviceAccounts/voice@project.example:generateAccessToken';
  const expireTime = new Date(Date.now() + 1_800_000).toISOString();
  const server = await openServer(({ url }) => {
    if (url === '/identity') return { id: 'subject-2' };
    return url === '/v1/token' ? grant('federated-token') : { accessToken: 'account-token', expireTime };
  });
  const format = { type: 'json', subject_token_field_name: 'id' };
  const source = { url: `${server.url}/identity`, headers: { 'X-Machine': 'yes' }, format };
  const login = await openAdc(
    federated(server.url, source, {
      service_account_impersonation_url: server.url + impersonation,
      service_account_impersonation: { token_lifetime_seconds: 1800 },
    }),
  );
  expect((await login()).get('authorization')).toBe('Bearer account-token');
  const [identity, , account] = server.requests;
  expect(identity!.headers['x-machine']).toBe('yes');
  expect(server.form(1).subject_token).toBe('subject-2');
  expect(account).toMatchObject({ url: impersonation, headers: { authorization: 'Bearer federated-token' } });
  expect(JSON.parse(account!.body)).toEqual({ scope: [scope], lifetime: '1800s' });
  await login();
  expect(server.requests).toHaveLength(3);
});

test('A user of gcloud acts as a service account', async () => {
  const expireTime = new Date(Date.now() + 3_600_000).toISOString();
  const server = await openServer(({ url }) =>
    url === '/token' ? grant('user-token') : { accessToken: 'account-token', expireTime },
  );
  const login = await openAdc({
    type: 'impersonated_service_account',
    source_credentials: user(server.url),
    service_account_impersonation_url: `${server.url}/generate`,
    delegates: ['between'],
  });
  expect((await login()).get('authorization')).toBe('Bearer account-token');
  expect(server.requests[1]!.headers.authorization).toBe('Bearer user-token');
  expect(JSON.parse(server.requests[1]!.body)).toEqual({ scope: [scope], lifetime: '3600s', delegates: ['between'] });
});

test.each<[string, Answer, string, number | undefined]>([
  [
    'is refused',
    (_, response) => response.writeHead(400).end('{"error":"invalid_grant","error_description":"hush"}'),
    'cannot sign in: status 400, invalid_grant',
    undefined,
  ],
  ['meets an overloaded server', (_, response) => response.writeHead(503).end(), 'cannot sign in: status 503', 0],
  ['gets no answer', (_, response) => void response.destroy(), 'cannot sign in: the connection was closed', 0],
  ['gets no JSON', (_, response) => response.end('hush'), 'cannot sign in: an answer that is not JSON', undefined],
  ['gets no token', () => ({ token: 'hush' }), 'cannot sign in: no access_token', undefined],
  [
    'gets too much',
    (_, response) => response.end('hush'.repeat(20_000)),
    'cannot sign in: an answer that is not JSON',
    undefined,
  ],
])('The log says that a login %s, and contains no secret', async (_, answer, message, retryAfterSeconds) => {
  const server = await openServer(answer);
  const login = await openAdc(user(server.url));
  const failure = await login().catch((error) => error);
  expect(failure).toMatchObject({ reason: 'engine_unavailable', cause: { message } });
  expect(failure.facts.retryAfterSeconds).toBe(retryAfterSeconds);
  expect(`${failure.stack} ${failure.cause.stack} ${JSON.stringify(failure)}`).not.toMatch(/hush/);
});

test('Redirects are not followed, so that no other server gets the secrets', async () => {
  const other = await openServer(() => grant('stolen'));
  const server = await openServer((_, response) => response.writeHead(307, { Location: `${other.url}/token` }).end());
  const login = await openAdc(user(server.url));
  await expect(login()).rejects.toMatchObject({ cause: { message: 'cannot sign in: status 307' } });
  expect(other.requests).toEqual([]);
});

test.each<[string, object | string]>([
  ['no JSON', 'hush'],
  ['another type', { type: 'gdch_service_account', private_key: 'hush' }],
  ['a broken key', { type: 'service_account', client_email: 'a@b.example', private_key: 'hush' }],
  ['a missing member', { type: 'authorized_user', client_id: 'client', refresh_token: 'hush' }],
  ['a URL without https', user('http://192.0.2.1')],
  ['a program to run', federated('https://sts.example', { executable: { command: 'hush' } })],
])('A file with %s is refused at the start, without its content', async (_, content) => {
  const failure = await openAdc(content).catch((error) => error);
  expect(failure.facts.message).toBe(
    `SONANT_GOOGLE_CREDENTIALS is adc, but ${join(folder, 'adc.json')} contains no credentials that Sonant can use`,
  );
  expect(`${failure.stack} ${JSON.stringify(failure)} ${failure.cause}`).not.toMatch(/hush/);
});
