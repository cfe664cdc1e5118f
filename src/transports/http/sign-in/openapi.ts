// The OpenAPI documentation of /oauth/get-key; its POST is a token endpoint (RFC 6749).
import { tokenScopes, tokenSeconds } from '../../../accounts.ts';
import { describeObject, jsonAnswer, objectSchema, type RouteDocs, type Schema, text } from '../route-docs.ts';

const address = describeObject('AuthorizationAddress', {
  authorization_url: [
    text('URL of the sign-in page.', { format: 'uri' }),
    'https://id.example/authorize?client_id=sonant',
  ],
});
export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
export const subjectTokenTypes = [
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
    scope: text(`Scopes of the token: some of \`${tokenScopes.join(' ')}\`, separated by spaces. Default: all.`),
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
  expires_in: tokenSeconds,
  scope: 'keys:read keys:write',
};

export const beginSignInOperation: RouteDocs = {
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

export const takeTokenDocs: RouteDocs = {
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
