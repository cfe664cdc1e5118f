// Tests a person who signs in at a real OpenID Connect server: the result, and every refusal.
import { afterAll, describe, expect, test } from 'vitest';
import { toCookie } from '../../../src/transports/http/admission.ts';
import { openBrowser, openSignInGateway, signInAs } from './oidc-server.ts';
import { openTestGateway } from './open-gateway.ts';

const signInRules = { subjects: ['robot'], domains: ['example.test'], groups: ['speakers'] };
const gateway = await openSignInGateway({ signInRules }, {}, afterAll);
const { exchange, withBearer } = gateway;
const getKey = `${gateway.url}/oauth/get-key`;
const keys = '/api/auth/api-keys';

/** A session of the user, and the requests of its page. */
async function signedIn(login = 'ada') {
  const browser = openBrowser();
  const back = await signInAs(login, gateway, browser);
  const { url, answer } = await browser.follow(await browser.visit(back), back);
  const session = (await (await browser.visit(`${gateway.url}/oauth/session`)).json()) as SignedIn;
  const csrf = session.csrf_token;
  const send = async (path: string, { body, method, headers = { 'X-CSRF-Token': csrf } }: PageCall = {}) => {
    const answer = await browser.visit(gateway.url + path, {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) } as Record<string, string>,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, json: text === '' ? {} : JSON.parse(text) };
  };
  return { browser, back, session, csrf, send, url, answer };
}

interface SignedIn {
  name: string;
  csrf_token: string;
  scopes: string[];
}

interface PageCall {
  body?: object;
  method?: string;
  headers?: Record<string, string>;
}

describe('a person', () => {
  test('signs in, makes a key that speaks, sees it once, replaces and ends it', async () => {
    const { session, send, url, answer } = await signedIn();
    expect([answer.status, url]).toEqual([200, `${gateway.url}/console#/keys`]);
    expect(session).toMatchObject({ name: 'Ada <b>', scopes: expect.arrayContaining(['speech:stream']) });
    const { status, json: made } = await send(keys, { body: { name: 'laptop', expires_in_days: 90 } });
    expect([status, made.name]).toEqual([201, 'laptop']);
    const said = await gateway.speak(
      { text: 'Hello.', return_format: 'buffer' },
      { headers: { 'X-API-Key': made.key } },
    );
    expect([said.status, (await said.arrayBuffer()).byteLength > 10_000]).toEqual([200, true]);
    const { json: listed } = await send(keys);
    expect(listed.api_keys).toMatchObject([{ id: made.id, name: 'laptop' }]);
    expect(JSON.stringify(listed)).not.toContain(made.key.slice(15));
    expect((await send(`${keys}/${made.id}/rotate`, { body: {} })).status).toBe(201);
    expect((await send(`${keys}/${made.id}`, { method: 'DELETE' })).status).toBe(204);
    const again = await signedIn();
    expect((await again.send(keys)).json.api_keys).toHaveLength(2);
  });

  test('may give no more than the operator lets keys of hers have, and sees nobody else’s', async () => {
    const { send } = await signedIn('grace');
    const admin = await send(keys, { body: { scopes: ['admin'] } });
    expect([admin.status, admin.json.error]).toEqual([403, 'insufficient_scope']);
    expect((await send(keys, { body: { scopes: ['keys:write'] } })).status).toBe(403);
    expect((await send(keys)).json.api_keys).toEqual([]);
    const { apiKey } = await gateway.keyVerifier.create({});
    expect((await send(`${keys}/${apiKey.keyId}`, { method: 'DELETE' })).status).toBe(404);
  });

  test('a person whom no rule names is refused, and gets no session', async () => {
    for (const login of ['eve', 'mallory']) {
      const browser = openBrowser();
      const answer = await browser.visit(await signInAs(login, gateway, browser));
      expect([answer.status, await answer.text()]).toEqual([
        403,
        expect.stringContaining('has not allowed you to create keys'),
      ]);
      expect([...browser.jars.get(new URL(gateway.url).host)!.keys()]).toEqual([]);
    }
  });

  test('who asks as a program gets the address to go to', async () => {
    const answer = await fetch(getKey, { headers: { Accept: 'application/json' } });
    const { authorization_url } = (await answer.json()) as { authorization_url: string };
    const { origin, searchParams } = new URL(authorization_url);
    expect(origin).toBe(gateway.issuerUrl);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      redirect_uri: `${gateway.url}/oauth/callback`,
      code_challenge_method: 'S256',
      response_type: 'code',
      state: expect.any(String),
      nonce: expect.any(String),
    });
    expect(answer.headers.get('Set-Cookie')).toMatch(
      /^__Host-sonant-login=[\w.-]+; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
    );
  });

  test('loses a session that is open when the rules no longer name her', async () => {
    const rules = { subjects: ['ada'], domains: [] as string[], groups: [] };
    const strict = await openSignInGateway({ signInRules: rules });
    const browser = openBrowser();
    const back = await signInAs('ada', strict, browser);
    await browser.visit(back);
    const { csrf_token } = (await (await browser.visit(`${strict.url}/oauth/session`)).json()) as SignedIn;
    const headers = { 'X-CSRF-Token': csrf_token };
    expect((await browser.visit(strict.url + keys, { headers })).status).toBe(200);
    rules.subjects = ['grace'];
    expect((await browser.visit(strict.url + keys, { headers })).status).toBe(403);
    expect((await browser.visit(`${strict.url}/oauth/session`)).status).toBe(403);
  });

  test('signs out', async () => {
    const { browser, csrf, send } = await signedIn();
    expect((await browser.visit(getKey)).headers.get('location')).toBe(`${gateway.url}/console#/keys`);
    const leave = (headers: Record<string, string>) =>
      browser.visit(`${gateway.url}/oauth/sign-out`, { method: 'POST', headers });
    expect((await leave({})).status).toBe(401);
    expect((await leave({ 'X-CSRF-Token': csrf })).status).toBe(204);
    expect((await send(keys)).status).toBe(401);
    expect((await browser.visit(`${gateway.url}/oauth/session`)).status).toBe(204);
    expect((await browser.visit(getKey)).status).toBe(302);
  });
});

describe('a sign-in is refused', () => {
  const refusal = async (answer: Response) => [
    answer.status,
    (await answer.text()).includes('Start again at /oauth/get-key'),
  ];

  test('with a state that is not its own', async () => {
    const browser = openBrowser();
    const back = new URL(await signInAs('ada', gateway, browser));
    back.searchParams.set('state', 'another');
    expect(await refusal(await browser.visit(back.href))).toEqual([400, true]);
  });

  test('in a browser that did not begin it', async () => {
    const back = await signInAs('ada', gateway, openBrowser());
    expect(await refusal(await openBrowser().visit(back))).toEqual([400, true]);
  });

  test('a sign-in with a used code is refused, even with its original cookie', async () => {
    const browser = openBrowser();
    const back = await signInAs('ada', gateway, browser);
    const jar = browser.jars.get(new URL(gateway.url).host)!;
    const before = new Map(jar);
    expect((await browser.visit(back)).status).toBe(303);
    expect(await refusal(await browser.visit(back))).toEqual([400, true]);
    for (const [name, value] of before) jar.set(name, value);
    expect(await refusal(await browser.visit(back))).toEqual([400, true]);
  });

  test('with a cookie that was changed', async () => {
    const browser = openBrowser();
    const back = await signInAs('ada', gateway, browser);
    const jar = browser.jars.get(new URL(gateway.url).host)!;
    for (const [name, value] of jar) jar.set(name, `${value.slice(0, -2)}AA`);
    expect(await refusal(await browser.visit(back))).toEqual([400, true]);
  });

  test('by the issuer, and its words are not repeated', async () => {
    const browser = openBrowser();
    await browser.visit(getKey);
    const answer = await browser.visit(`${gateway.url}/oauth/callback?error=access_denied&error_description=<script>`);
    const text = await answer.text();
    expect([answer.status, text.includes('<script>')]).toEqual([400, false]);
  });

  test('and URLs in it are not followed', async () => {
    for (const query of ['return_to=https://evil.test', 'redirect_uri=https://evil.test', '//evil.test']) {
      const answer = await fetch(`${getKey}?${query}`, { redirect: 'manual', headers: { Host: 'evil.test' } });
      const { origin, searchParams } = new URL(answer.headers.get('location')!);
      expect([origin, searchParams.get('redirect_uri')]).toEqual([gateway.issuerUrl, `${gateway.url}/oauth/callback`]);
    }
  });
});

describe('a session', () => {
  test('a session refuses requests from other sites and requests without the CSRF token', async () => {
    const { send, csrf } = await signedIn();
    const body = { name: 'stolen' };
    for (const headers of [
      {},
      { 'X-CSRF-Token': 'wrong' },
      { 'X-CSRF-Token': csrf, 'Sec-Fetch-Site': 'cross-site' },
      { 'X-CSRF-Token': csrf, 'Sec-Fetch-Site': 'same-site' },
    ] as Record<string, string>[]) {
      expect((await send(keys, { body, headers })).status).toBe(401);
    }
    expect((await send(keys)).json.api_keys.map(({ name }: { name: string }) => name)).not.toContain('stolen');
  });

  test('cannot speak, and is no bearer token; a bearer token is no session', async () => {
    const { browser, send } = await signedIn();
    const session = browser.jars.get(new URL(gateway.url).host)!.get('__Host-sonant-session')!;
    const speech = await send('/api/audio/speech', { body: { voice_id: 'tone-low', text: 'Hello.' } });
    expect([speech.status, speech.json.error]).toEqual([401, 'invalid_api_key']);
    expect((await withBearer(session)).status).toBe(401);
    const { json } = await exchange(await gateway.sign({ sub: 'robot' }));
    const cookie = toCookie('__Host-sonant-session', String(json.access_token), 60).split(';', 1)[0]!;
    expect((await fetch(getKey, { headers: { Cookie: cookie, Accept: 'text/html' }, redirect: 'manual' })).status).toBe(
      302,
    );
  });
});

test('without an issuer the page explains how keys are created', async () => {
  const plain = await openTestGateway();
  const answer = await fetch(`${plain.url}/oauth/get-key`);
  expect([answer.status, await answer.json()]).toMatchObject([503, { error: 'oauth_not_configured' }]);
  const page = await fetch(`${plain.url}/oauth/get-key`, { headers: { Accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([503, expect.stringContaining('sonant key create')]);
});

describe('every reply of sign-in', () => {
  test('has the security headers that OWASP recommends', async () => {
    const browser = openBrowser();
    const page = await browser.visit(await signInAs('eve', gateway, browser));
    const headers = Object.fromEntries(page.headers);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
      'content-type': 'text/html; charset=utf-8',
    });
    const policy = headers['content-security-policy']!;
    expect(policy).not.toMatch(/unsafe|\*|http|data:/);
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"])
      expect(policy).toContain(part);
    expect(headers).not.toHaveProperty('server');
    expect(headers).not.toHaveProperty('strict-transport-security');
    const text = await page.text();
    expect(text).not.toMatch(/<script|<style| on\w+=|style="/);
    // The page works below any path prefix of a proxy.
    expect(text).not.toMatch(/ [\w-]+="\//);
  });

  test('the token of a session is not stored, and no other site gets it', async () => {
    const { browser } = await signedIn();
    const own = await browser.visit(`${gateway.url}/oauth/session`);
    expect([own.status, own.headers.get('cache-control')]).toEqual([200, 'no-store']);
    for (const site of ['cross-site', 'same-site'])
      expect(
        (await browser.visit(`${gateway.url}/oauth/session`, { headers: { 'Sec-Fetch-Site': site } })).status,
      ).toBe(204);
  });

  test('responses of the service have HSTS and other security headers over TLS', async () => {
    const secure = await openTestGateway({ settings: { baseUrl: () => 'https://sonant.test' } });
    for (const path of ['/api/voices', '/healthz', '/docs', '/nothing']) {
      const { headers } = await secure.send(path);
      expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d{8}/);
      expect([headers.get('x-content-type-options'), headers.get('x-frame-options')]).toEqual(['nosniff', 'DENY']);
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
  });
});
