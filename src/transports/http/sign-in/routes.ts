// /oauth: sign-in for people, who then manage keys in the console, and a token endpoint for machines (RFC 6749 with
// client credentials; RFC 8693 for the issuer's tokens). URLs are built from the configured base URL, never from the
// Host header, and no redirect leads to a URL in a request.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Accounts, keyTokens } from '../../../accounts.ts';
import { Failure, failureTable } from '../../../platform/errors.ts';
import { bodyArrivalMs } from '../../../platform/net/request-limits.ts';
import { fromThrown } from '../../net/failure-reply.ts';
import { parseBody } from '../../net/request-body.ts';
import { cookieOf, isSameOrigin, loginCookie, sessionCookie, toCookie } from '../admission.ts';
import { formBytesMax } from '../http-limits.ts';
import { addWithoutBody, checkEncoding } from '../request-fields.ts';
import {
  describeObject,
  documented,
  jsonAnswer,
  objectSchema,
  type RouteDocs,
  type Schema,
  text,
} from '../route-docs.ts';

// The OpenAPI documentation of /oauth/get-key; its POST is a token endpoint (RFC 6749).

const address = describeObject('AuthorizationAddress', {
  authorization_url: [
    text('URL of the sign-in page.', { format: 'uri' }),
    'https://id.example/authorize?client_id=sonant',
  ],
});
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const subjectTokenTypes = [
  accessTokenType,
  'urn:ietf:params:oauth:token-type:jwt',
  'urn:ietf:params:oauth:token-type:id_token',
];
const grantSchema: Schema = {
  title: 'TokenRequest',
  type: 'object',
  required: ['grant_type'],
  properties: {
    grant_type: text('The type of the grant.', { enum: ['client_credentials', exchangeGrant] }),
    client_id: text('Id of a client registered with this service, unless HTTP Basic is used.'),
    client_secret: text('Secret of the client, unless HTTP Basic is used.'),
    scope: text(`Scopes of the token: some of \`${keyTokens.scopes.join(' ')}\`, separated by spaces. Default: all.`),
    subject_token: text('A token of the issuer, to exchange (RFC 8693).'),
    subject_token_type: text('Type of the subject token.', { enum: subjectTokenTypes }),
  },
};
const tokenSchema: Schema = {
  title: 'AccessToken',
  type: 'object',
  required: ['access_token', 'token_type', 'expires_in', 'scope'],
  properties: {
    access_token: text('Allows key management, but no speech.'),
    token_type: text('How to send the token.', { enum: ['Bearer'] }),
    expires_in: { type: 'integer', description: 'Lifetime in seconds.' },
    scope: text('Scopes of the token.'),
    issued_token_type: text('Type of a token that was exchanged.'),
  },
};
const refusalSchema = objectSchema(
  'TokenRefusal',
  {
    error: text('The error code.', {
      enum: ['invalid_request', 'invalid_client', 'invalid_scope', 'unsupported_grant_type'],
    }),
    error_description: text('A description of the error.'),
  },
  'The error response of RFC 6749, section 5.2.',
);
const exampleToken = {
  access_token: 'eyJhbGciOiJkaXIi',
  token_type: 'Bearer',
  expires_in: keyTokens.seconds,
  scope: 'keys:read keys:write',
};

const beginSignInOperation: RouteDocs = {
  id: 'beginSignIn',
  tag: 'Keys',
  summary: 'Sign in to manage API keys',
  description:
    'For people: the browser is redirected to the operator’s identity provider, and then to the page of the console that manages keys. A client that accepts JSON gets the URL instead.',
  answers: {
    200: {
      description: 'The sign-in URL.',
      headers: ['Cache-Control'],
      content: { 'application/json': address },
    },
    302: { description: 'Redirects to the identity provider.', headers: ['Location', 'Cache-Control'] },
    303: {
      description: 'Redirects a person who has signed in to the console.',
      headers: ['Location', 'Cache-Control'],
    },
  },
  failures: ['access_denied', 'temporarily_unavailable', 'oauth_not_configured'],
  isPage: true,
};

const takeTokenDocs: RouteDocs = {
  id: 'takeToken',
  tag: 'Keys',
  summary: 'Get a token that manages API keys',
  description:
    'Issues a token to a machine (RFC 6749), for the credentials of a registered client or in exchange for a token of the operator’s issuer (RFC 8693).',
  body: {
    examples: {},
    form: {
      type: 'application/x-www-form-urlencoded',
      schema: grantSchema,
      example: { grant_type: 'client_credentials', client_id: 'deployer', client_secret: 'its secret' },
    },
  },
  answers: {
    200: jsonAnswer('The token.', tokenSchema, exampleToken, ['Cache-Control']),
    400: jsonAnswer(
      'The request is invalid.',
      refusalSchema,
      { error: 'unsupported_grant_type', error_description: 'grant_type is client_credentials' },
      ['Cache-Control'],
    ),
    401: jsonAnswer(
      'The client is unknown, or its secret is wrong.',
      refusalSchema,
      { error: 'invalid_client', error_description: 'the client is unknown, or its secret is wrong' },
      ['Cache-Control', 'WWW-Authenticate'],
    ),
  },
  failures: ['rate_limit_exceeded', 'temporarily_unavailable', 'oauth_not_configured'],
};

interface OauthRoutesOptions extends Pick<Accounts, 'signIn' | 'addresses'> {
  baseUrl(): string;
}

const getKey = '/oauth/get-key';
const callback = '/oauth/callback';
/** The page of the console where a person who has signed in manages keys. */
const keysPage = '/console#/keys';

export function addOauthRoutes(app: FastifyInstance, options: OauthRoutesOptions): void {
  addSignIn(app, options);
  addTokenEndpoint(app, options);
}

function addSignIn(app: FastifyInstance, { signIn, addresses, baseUrl }: OauthRoutesOptions): void {
  app.get(getKey, documented(beginSignInOperation), async (request, reply) => {
    try {
      const session = await signIn.session(cookieOf(request.headers.cookie, sessionCookie));
      const isPage = wantsPage(request);
      reply.header('cache-control', 'no-store');
      if (session && isPage) return reply.redirect(baseUrl() + keysPage, 303);
      const { url, cookie } = await signIn.begin(baseUrl() + callback);
      reply.header('set-cookie', toCookie(loginCookie, cookie, signIn.loginSeconds));
      return isPage ? reply.redirect(url, 302) : reply.send({ authorization_url: url });
    } catch (error) {
      if (fromThrown(error).reason === 'access_denied') reply.header('set-cookie', toCookie(sessionCookie, '', 0));
      return sendTrouble(request, reply, error);
    }
  });

  app.get(callback, { exposeHeadRoute: false }, async (request, reply) => {
    // The cookie of the sign-in is deleted, whether the sign-in succeeds or fails.
    const ended = toCookie(loginCookie, '', 0);
    try {
      addresses.check(request.ip);
      const url = new URL(request.url, baseUrl());
      const session = await signIn.finish(url, cookieOf(request.headers.cookie, loginCookie));
      reply.header('set-cookie', [toCookie(sessionCookie, session, signIn.sessionSeconds), ended]);
      return reply.header('cache-control', 'no-store').redirect(baseUrl() + keysPage, 303);
    } catch (error) {
      reply.header('set-cookie', ended);
      const isTheirs = failureTable[fromThrown(error).reason].status < 429;
      return sendTrouble(request, reply, isTheirs ? counted(() => addresses.noteFailure(request.ip), error) : error);
    }
  });

  // The console gets the token that it must send with each change, and the scopes that new keys may have.
  app.get('/oauth/session', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const session = isSameOrigin(request)
      ? await signIn.session(cookieOf(request.headers.cookie, sessionCookie))
      : undefined;
    if (!session) return reply.code(204).send();
    return reply.send({ name: session.name, csrf_token: session.csrf, scopes: session.holder.grant.scopes });
  });

  addWithoutBody(app, (scope) => {
    scope.post('/oauth/sign-out', async (request, reply) => {
      const cookie = cookieOf(request.headers.cookie, sessionCookie);
      // Signing out of an invalid session needs no CSRF token.
      const session = await signIn.session(cookie).catch(() => undefined);
      if (session && session.csrf !== request.headers['x-csrf-token']) throw new Failure('invalid_token');
      return reply
        .header('set-cookie', toCookie(sessionCookie, '', 0))
        .code(204)
        .send();
    });
  });
}

function addTokenEndpoint(app: FastifyInstance, { signIn, addresses }: OauthRoutesOptions): void {
  app.register(async (scope) => {
    scope.addContentTypeParser(formType, (request: FastifyRequest, payload: IncomingMessage) =>
      readForm(request, payload).catch((error: unknown) => {
        throw counted(() => addresses.noteFailure(request.ip), error);
      }),
    );
    // This hook runs before the body is read.
    scope.addHook('onRequest', async (request, reply) => {
      reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
      addresses.check(request.ip);
    });
    scope.post(getKey, documented(takeTokenDocs), async (request, reply) => {
      const fields = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
      const answer = await grant(signIn, request, fields);
      if ('token' in answer) {
        const { token, scopes, more } = answer;
        const facts = { access_token: token, token_type: 'Bearer', expires_in: keyTokens.seconds };
        return reply.send({ ...facts, scope: scopes.join(' '), ...more });
      }
      const isClient = answer.error === 'invalid_client';
      addresses.noteFailure(request.ip);
      if (isClient) reply.header('www-authenticate', 'Basic realm="Sonant"');
      return reply.code(isClient ? 401 : 400).send(answer);
    });
  });
}

const formType = 'application/x-www-form-urlencoded';
const formLimits = { bytesMax: formBytesMax, arrivalMs: bodyArrivalMs };
const notFormMessage = `The request body must be ${formType} in UTF-8, uncompressed.`;

async function readForm(request: FastifyRequest, payload: IncomingMessage): Promise<URLSearchParams> {
  checkEncoding(request, notFormMessage);
  return parseBody(payload, formLimits, (bytes) => new URLSearchParams(bytes.toString()));
}

type Granted =
  | { token: string; scopes: readonly string[]; more?: Record<string, string> }
  | { error: string; error_description: string };

const refused = (error: string, error_description: string): Granted => ({ error, error_description });
async function grant(signIn: Accounts['signIn'], request: FastifyRequest, fields: URLSearchParams): Promise<Granted> {
  for (const name of fields.keys())
    if (fields.getAll(name).length > 1) return refused('invalid_request', `${name} was sent more than once`);
  const type = fields.get('grant_type');
  const scopes = parseScopes(fields);
  if (type === 'client_credentials') {
    const client = clientOf(request, fields);
    if (!client) return refused('invalid_client', 'send the client id and its secret, with HTTP Basic or in the body');
    const token = await signIn.tokenForClient(client.id, client.secret, scopes ?? []);
    if (!token) return refused('invalid_client', 'the client is unknown, or its secret is wrong');
    return scopes ? { token, scopes } : unknownScope();
  }
  if (type === exchangeGrant) {
    const subject = fields.get('subject_token');
    if (!subject || !subjectTokenTypes.includes(fields.get('subject_token_type') ?? ''))
      return refused('invalid_request', 'send subject_token, and subject_token_type as a JWT or an access token');
    try {
      const token = await signIn.tokenForToken(subject, scopes ?? []);
      return scopes ? { token, scopes, more: { issued_token_type: accessTokenType } } : unknownScope();
    } catch (error) {
      const { reason, message } = fromThrown(error);
      if (reason === 'invalid_token')
        return refused('invalid_request', 'the token is not a valid token of the issuer for this service');
      if (reason === 'access_denied') return refused('invalid_request', message);
      throw error;
    }
  }
  if (type) return refused('unsupported_grant_type', `grant_type must be client_credentials or ${exchangeGrant}`);
  const isForm = request.body instanceof URLSearchParams;
  return refused('invalid_request', isForm ? 'grant_type is missing' : `send the fields as a form (${formType})`);
}

const unknownScope = () => refused('invalid_scope', `scope must be some of: ${keyTokens.scopes.join(' ')}`);

/**
 * Returns all scopes by default, and undefined if the request names an unknown scope. An empty value counts as absent
 * (RFC 6749).
 */
function parseScopes(fields: URLSearchParams) {
  const wanted = (fields.get('scope') ?? '').split(' ').filter(Boolean);
  if (wanted.length === 0) return keyTokens.scopes;
  const scopes = keyTokens.scopes.filter((scope) => wanted.includes(scope));
  return wanted.every((scope) => scopes.some((known) => known === scope)) ? scopes : undefined;
}

/** The client's credentials from HTTP Basic (RFC 6749 section 2.3.1: both parts are form-encoded) or from the body. */
function clientOf({ headers }: FastifyRequest, fields: URLSearchParams): { id: string; secret: string } | undefined {
  const [, basic] = /^Basic +([\w+/=-]+)$/i.exec(headers.authorization ?? '') ?? [];
  if (basic) {
    const [id, secret] = Buffer.from(basic, 'base64').toString().split(/:(.*)/s);
    const decode = (text: string) => new URLSearchParams(`x=${text}`).get('x') ?? '';
    return secret === undefined ? undefined : { id: decode(id!), secret: decode(secret) };
  }
  const [id, secret] = [fields.get('client_id'), fields.get('client_secret')];
  return id && secret ? { id, secret } : undefined;
}

/** Whether the request comes from a browser. */
const wantsPage = ({ headers: { accept = '' } }: FastifyRequest) =>
  accept.includes('text/html') || !accept.includes('application/json');

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

/** The error page of sign-in, with a link to start again if a retry can help. URLs are relative, as in the console. */
const toErrorPage = (message: string, canRetry: boolean): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign-in failed · Sonant</title>
<link rel="stylesheet" href="../console/console.css">
</head>
<body>
<header class="head"><div><a class="brand" href="../console">Sonant</a></div></header>
<main>
<h1>Sign-in failed</h1>
<p class="lead">${escaped(message)}</p>
${canRetry ? '<p><a href="get-key">Start again</a></p>\n' : ''}</main>
</body>
</html>
`;

/** Sends an HTML error page to a browser; other clients get the failure as JSON. */
function sendTrouble(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  if (!request.headers.accept?.includes('text/html')) throw error;
  request.fault = error;
  const { reason, message } = fromThrown(error);
  const page = toErrorPage(message, reason !== 'oauth_not_configured');
  return reply.code(failureTable[reason].status).headers(pageHeaders).send(page);
}

/** Counts a failed attempt. Returns its error, or the failure for too many attempts. */
function counted(note: () => void, error: unknown): unknown {
  try {
    note();
    return error;
  } catch (tooMany) {
    return tooMany;
  }
}
