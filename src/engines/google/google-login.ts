// Logins at Google: which credentials there are, and access tokens for them, by https://google.aip.dev/auth. A service
// account signs its own tokens. The other credentials exchange something for a token over HTTP: a user's refresh token,
// the token of another issuer (workload identity federation), or the place itself, at the metadata server of Google's
// machines. Errors never quote a file or an answer, because both contain secrets.
import { createPrivateKey, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { codeIn, readUpTo } from '../../platform/net/upstream-answer.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';

interface Token {
  value: string;
  expiresMs: number;
}

type RequestToken = () => Promise<Token>;

/** A parsed file of credentials, whose members have not been checked. */
type Credentials = Readonly<Record<string, unknown>>;

const scope = 'https://www.googleapis.com/auth/cloud-platform';
const userTokenUrl = 'https://oauth2.googleapis.com/token';
const lifetimeSeconds = 3600;
/** A token is replaced in the background this long before it expires, which is later than the metadata server does. */
const refreshEarlyMs = 225_000;
/** A token that expires so soon may be refused on arrival. */
const spareMs = 10_000;
const answerMs = 10_000;
const metadataMs = 5_000;
const answerBytesMax = 64 << 10;

/** Finds the credentials, without signing in unless that shows whether there are any. Returns authentication headers. */
export async function openGoogleLogin(credentials: string): Promise<() => Promise<Headers>> {
  const isNamed = credentials !== 'adc';
  const { request, quotaProject } = isNamed ? await namedLogin(credentials) : await environmentLogin();
  let token: Token | undefined;
  let refreshing: Promise<Token> | undefined;
  async function refresh() {
    try {
      token = await request();
      return token;
    } finally {
      refreshing = undefined;
    }
  }
  return async () => {
    const leftMs = (token?.expiresMs ?? 0) - Date.now();
    if (leftMs < refreshEarlyMs) refreshing ??= refresh();
    // While the old token is valid, a failure has no effect. The next call repeats the request.
    refreshing?.catch(() => {});
    const { value } = token && leftMs > spareMs ? token : await refreshing!.catch(refuseLogin);
    const headers = new Headers({ Authorization: `Bearer ${value}` });
    if (quotaProject) headers.set('x-goog-user-project', quotaProject);
    return headers;
  };
}

async function namedLogin(path: string) {
  const broken = (why: string) =>
    new Failure('engine_unavailable', { message: `SONANT_GOOGLE_CREDENTIALS: ${path} ${why}` });
  const text = await readFile(path, 'utf8').catch((error) => {
    throw broken(`cannot be read: ${reasonOf(error)}`);
  });
  try {
    const file: Credentials = JSON.parse(text);
    return { request: signedTokens(file), quotaProject: file.quota_project_id as string | undefined };
  } catch {
    throw broken('is not the JSON key file of a Google service account');
  }
}

/** Application Default Credentials: the file of the environment, then that of gcloud, then the metadata server. */
async function environmentLogin() {
  const { env } = process;
  const gcloud =
    env.CLOUDSDK_CONFIG || (env.APPDATA ? join(env.APPDATA, 'gcloud') : join(homedir(), '.config', 'gcloud'));
  const named = env.GOOGLE_APPLICATION_CREDENTIALS;
  const path = named || join(gcloud, 'application_default_credentials.json');
  const none = 'this environment has no Google login';
  const broken = (why: string, cause: unknown) =>
    new Failure('engine_unavailable', { message: `SONANT_GOOGLE_CREDENTIALS is adc, but ${why}` }, cause);
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (named || cause.code !== 'ENOENT') throw broken(none, cause);
  });
  if (text === undefined) {
    await metadataToken().catch((cause) => {
      throw broken(none, toCause(cause));
    });
    return { request: metadataToken, quotaProject: env.GOOGLE_CLOUD_QUOTA_PROJECT };
  }
  try {
    const file: Credentials = JSON.parse(text);
    const quotaProject = env.GOOGLE_CLOUD_QUOTA_PROJECT || (file.quota_project_id as string | undefined);
    return { request: tokensOf(file), quotaProject };
  } catch {
    // The message of a parser is dropped, because it would quote the file.
    throw broken(`${path} contains no credentials that Sonant can use`, undefined);
  }
}

/** Throws if members are missing or invalid, or the type is unknown. */
function tokensOf(file: Credentials): RequestToken {
  switch (file.type) {
    case 'service_account':
      return signedTokens(file);
    case 'authorized_user':
      return userTokens(file);
    case 'external_account':
      return federatedTokens(file);
    case 'impersonated_service_account':
      return impersonate(tokensOf(file.source_credentials as Credentials), file);
    default:
      throw new Error('unknown type of credentials');
  }
}

/** Tokens that a service account signs (https://google.aip.dev/auth/4111). */
function signedTokens(file: Credentials): RequestToken {
  const email = textIn(file, 'client_email');
  const key = createPrivateKey(textIn(file, 'private_key'));
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return async () => {
    const iat = Math.floor(Date.now() / 1000);
    const exp = iat + lifetimeSeconds;
    const header = encode({ alg: 'RS256', typ: 'JWT', kid: file.private_key_id });
    const signed = `${header}.${encode({ iss: email, sub: email, scope, iat, exp })}`;
    const value = `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
    return { value, expiresMs: exp * 1000 };
  };
}

/** Tokens of a user, by the file of `gcloud auth application-default login` (https://google.aip.dev/auth/4113). */
function userTokens(file: Credentials): RequestToken {
  const url = file.token_uri === undefined ? userTokenUrl : tokenUrlIn(file, 'token_uri');
  const [client_id, client_secret] = [textIn(file, 'client_id'), textIn(file, 'client_secret')];
  const refresh_token = textIn(file, 'refresh_token');
  const form = new URLSearchParams({ client_id, client_secret, refresh_token, grant_type: 'refresh_token' });
  return async () => toToken(await ask(url, { method: 'POST', body: form }));
}

/** Tokens for those of another issuer, from a file or a URL (https://google.aip.dev/auth/4117). */
function federatedTokens(file: Credentials): RequestToken {
  const url = tokenUrlIn(file, 'token_url');
  const audience = textIn(file, 'audience');
  const subject_token_type = textIn(file, 'subject_token_type');
  const source = file.credential_source as Credentials;
  const format = (source.format ?? {}) as Credentials;
  const from = textIn(source, source.file === undefined ? 'url' : 'file');
  const field = format.type === 'json' ? textIn(format, 'subject_token_field_name') : undefined;
  const readSubject = async () => {
    const headers = (source.headers ?? {}) as Record<string, string>;
    const text = source.file === undefined ? await askText(from, { headers }) : await readFile(from, 'utf8');
    return field === undefined ? text.trim() : textIn(parse(text), field);
  };
  const request = async () => {
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience,
      scope,
      subject_token_type,
      subject_token: await readSubject(),
    });
    return toToken(await ask(url, { method: 'POST', body: form }));
  };
  return file.service_account_impersonation_url === undefined ? request : impersonate(request, file);
}

/** Tokens of a service account that another login may use. */
function impersonate(request: RequestToken, file: Credentials): RequestToken {
  const url = tokenUrlIn(file, 'service_account_impersonation_url');
  const { token_lifetime_seconds: seconds = lifetimeSeconds } = (file.service_account_impersonation ??
    {}) as Credentials;
  const body = JSON.stringify({ scope: [scope], lifetime: `${seconds}s`, delegates: file.delegates });
  return async () => {
    const headers = { Authorization: `Bearer ${(await request()).value}`, 'Content-Type': 'application/json' };
    const answer = await ask(url, { method: 'POST', headers, body });
    return { value: textIn(answer, 'accessToken'), expiresMs: Date.parse(textIn(answer, 'expireTime')) };
  };
}

/** The token of the machine or workload (https://google.aip.dev/auth/4115). */
async function metadataToken(): Promise<Token> {
  const host = process.env.GCE_METADATA_HOST || 'metadata.google.internal';
  const url = `http://${host}/computeMetadata/v1/instance/service-accounts/default/token?scopes=${scope}`;
  return toToken(await ask(url, { headers: { 'Metadata-Flavor': 'Google' } }, metadataMs));
}

const toToken = (answer: Credentials): Token => ({
  value: textIn(answer, 'access_token'),
  expiresMs: Date.now() + (Number(answer.expires_in) || 0) * 1000,
});

function textIn(from: Credentials, name: string): string {
  const text = from[name];
  if (typeof text !== 'string' || text === '') throw new Error(`no ${name}`);
  return text;
}

/** A URL that receives secrets: over https, or on this machine. */
function tokenUrlIn(file: Credentials, name: string): string {
  const url = new URL(textIn(file, name));
  if (url.protocol === 'https:' || /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname)) return url.href;
  throw new Error(`${name} is no https URL`);
}

/** An answer that grants no token. Answers of an overloaded server may be repeated. */
class Refused extends Error {
  readonly mayRepeat: boolean;
  constructor(message: string, status: number) {
    super(message);
    this.mayRepeat = status === 429 || status >= 500;
  }
}

const ask = async (url: string, request: RequestInit, patienceMs?: number) =>
  parse(await askText(url, request, patienceMs));

async function askText(url: string, request: RequestInit, patienceMs = answerMs): Promise<string> {
  const answer = await fetch(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(patienceMs) });
  const text = String((await readUpTo(answer, answerBytesMax)) ?? '');
  if (answer.status === 200) return text;
  throw new Refused([`status ${answer.status}`, codeIn(text)].filter(Boolean).join(', '), answer.status);
}

function parse(text: string): Credentials {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw new Error('an answer that is not JSON');
  }
}

/** Only a login without an answer, or with an overloaded server, may be repeated. */
function refuseLogin(error: unknown): never {
  const inner = innermost(error);
  const isUnanswered = /^(E[A-Z]|UND_ERR)/.test(String(inner.code)) || inner.name === 'TimeoutError';
  const mayRepeat = isUnanswered || (inner instanceof Refused && inner.mayRepeat);
  throw new Failure('engine_unavailable', mayRepeat ? { retryAfterSeconds: 0 } : {}, toCause(error));
}

const toCause = (error: unknown) => new Error(`cannot sign in: ${reasonOf(innermost(error))}`);

function innermost(error: unknown): NodeJS.ErrnoException {
  let inner = error as Error;
  while (inner.cause instanceof Error) inner = inner.cause;
  return inner;
}
