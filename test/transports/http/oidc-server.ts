// Starts a real OpenID Connect server (oidc-provider) on loopback, with its own sign-in and consent pages, and a
// gateway that uses it as its issuer. The server can issue invalid tokens with its key, and change its key.
import { createServer, type RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import { createIssuer } from '../../../src/accounts/sign-in/oidc-issuer.ts';
import type { SignInOptions } from '../../../src/accounts/sign-in/sign-in.ts';
import { listen } from '../../free-port.ts';
import { loadTool } from '../../tool-packages.ts';
import { type GatewayTestOptions, openTestGateway } from './open-gateway.ts';

const client = { clientId: 'sonant', clientSecret: 'a secret of sonant at the issuer' };
export const audience = 'https://sonant.example';

export async function openSignInGateway(
  signing: Partial<SignInOptions> = {},
  gateway: GatewayTestOptions = {},
  onClose: (close: () => Promise<void>) => void = onTestFinished,
) {
  let answer: RequestListener = () => {};
  const server = createServer((request, response) => answer(request, response));
  const serverPort = await listen(server);
  const issuerUrl = `http://127.0.0.1:${serverPort}`;
  let url = '';
  const issuer = createIssuer({ ...client, issuer: issuerUrl, audience, isInsecure: true });
  const signInRules = { subjects: [], domains: ['example.test'], groups: [] };
  const opened = await openTestGateway(
    { ...gateway, settings: { baseUrl: () => url, ...gateway.settings }, signing: { issuer, signInRules, ...signing } },
    onClose,
  );
  url = opened.url;
  const { default: Provider } = (await loadTool('oidc-provider')) as { default: ProviderClass };
  let key = await makeKey('one');
  answer = toProvider(Provider, issuerUrl, `${url}/oauth/callback`, key.jwk).callback();
  onClose(async () => {
    server.closeAllConnections();
    server.close();
  });
  const getKey = `${url}/oauth/get-key`;
  const token = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const answered = await fetch(getKey, { method: 'POST', body: new URLSearchParams(fields), headers });
    return { status: answered.status, headers: answered.headers, json: (await answered.json()) as JWTPayload };
  };
  return {
    ...opened,
    issuerUrl,
    token,
    exchange: (subject_token: string, more: Record<string, string> = {}) =>
      token({
        ...more,
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      }),
    withBearer: (bearer: unknown, path = '/api/auth/api-keys', init: RequestInit = {}) =>
      fetch(url + path, { ...init, headers: { Authorization: `Bearer ${bearer}`, ...init.headers } }),
    /** A valid token of the issuer, changed as given. */
    sign: (claims: JWTPayload = {}, { isForged = false, seconds = 300 } = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: issuerUrl, aud: audience, sub: 'ada', iat: now, exp: now + seconds, ...claims };
      const signingKey = isForged ? generateKeyPair('ES256') : Promise.resolve(key.pair);
      return signingKey.then((pair) =>
        new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid: key.jwk.kid! }).sign(pair.privateKey),
      );
    },
    /** Makes the issuer sign with a new key, and publish only that key. */
    async rotateKey() {
      key = await makeKey('two');
      answer = toProvider(Provider, issuerUrl, `${url}/oauth/callback`, key.jwk).callback();
    },
  };
}

type ProviderClass = new (issuer: string, options: object) => { callback(): RequestListener };

export type SignInGateway = Awaited<ReturnType<typeof openSignInGateway>>;

async function makeKey(kid: string) {
  const pair = await generateKeyPair('ES256', { extractable: true });
  return { pair, jwk: { ...(await exportJWK(pair.privateKey)), use: 'sig', alg: 'ES256', kid } };
}

/** The user "ada" is ada@example.test, "eve" is from another domain, and "mallory" has no verified address. */
function toProvider(Provider: ProviderClass, issuer: string, redirectUri: string, jwk: object) {
  // The provider would warn that its settings are not for production, which is intended.
  const { warn, info } = console;
  Object.assign(console, { warn() {}, info() {} });
  try {
    return new Provider(issuer, {
      jwks: { keys: [jwk] },
      cookies: { keys: ['a key of the test'] },
      clients: [
        {
          client_id: client.clientId,
          client_secret: client.clientSecret,
          redirect_uris: [redirectUri],
          id_token_signed_response_alg: 'ES256',
        },
      ],
      pkce: { required: () => true },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      findAccount: (_context: unknown, sub: string) => ({
        accountId: sub,
        claims: async () => ({
          sub,
          name: `${sub[0]!.toUpperCase()}${sub.slice(1)} <b>`,
          email: `${sub}@${sub === 'eve' ? 'elsewhere.test' : 'example.test'}`,
          email_verified: sub !== 'mallory',
        }),
      }),
      ttl: { AccessToken: 300, IdToken: 300, Interaction: 300, Session: 300, Grant: 300 },
      features: { devInteractions: { enabled: true } },
    });
  } finally {
    Object.assign(console, { warn, info });
  }
}

/** The parts of a browser that sign-in needs: cookies per host, and single redirects. */
export function openBrowser() {
  const jars = new Map<string, Map<string, string>>();
  const visit = async (address: string, init: RequestInit = {}) => {
    const { host } = new URL(address);
    const jar = jars.get(host) ?? new Map<string, string>();
    jars.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { Accept: 'text/html', ...(cookie && { Cookie: cookie }), ...init.headers };
    const answer = await fetch(address, { redirect: 'manual', ...init, headers });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  };
  const follow = async (answer: Response, from: string, until = (_url: string) => false) => {
    let url = from;
    let now = answer;
    while (now.status >= 300 && now.status < 400) {
      url = new URL(now.headers.get('location')!, url).href;
      if (until(url)) break;
      now = await visit(url);
    }
    return { answer: now, url };
  };
  const submit = async (url: string, fields: Record<string, string>, until?: (url: string) => boolean) =>
    follow(await visit(url, { method: 'POST', body: new URLSearchParams(fields) }), url, until);
  return { jars, visit, follow, submit };
}

export type Browser = ReturnType<typeof openBrowser>;

/** Signs in at the issuer. Returns the address that leads back to the gateway, without visiting it. */
export async function signInAs(login: string, { url }: Pick<SignInGateway, 'url'>, browser: Browser): Promise<string> {
  const begin = `${url}/oauth/get-key`;
  const authorization = await browser.follow(await browser.visit(begin), begin);
  const consent = await browser.submit(authorization.url, { prompt: 'login', login, password: 'any' });
  const isBack = (address: string) => address.startsWith(`${url}/oauth/callback`);
  return (await browser.submit(consent.url, { prompt: 'consent' }, isBack)).url;
}
