// What /oauth/get-key does, for those who call it. Its POST is a token endpoint, and answers as RFC 6749 has it.
import { tokenSeconds } from '../../sign-in/sign-in.ts';
import type { Content, RouteDocs, Schema } from '../http/route-docs.ts';

const text: Schema = { type: 'string' };

const addressSchema: Schema = {
  title: 'AuthorizationAddress',
  type: 'object',
  required: ['authorization_url'],
  properties: { authorization_url: { ...text, format: 'uri', description: 'Where to sign in.' } },
};
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
    grant_type: { ...text, enum: ['client_credentials', exchangeGrant], description: 'What is brought.' },
    client_id: { ...text, description: 'Of a client registered here, where it does not come by HTTP Basic.' },
    client_secret: { ...text, description: 'Its secret, likewise.' },
    subject_token: { ...text, description: 'A token of the issuer, to exchange (RFC 8693).' },
    subject_token_type: { ...text, enum: subjectTokenTypes, description: 'What it is.' },
  },
};
const tokenSchema: Schema = {
  title: 'AccessToken',
  type: 'object',
  required: ['access_token', 'token_type', 'expires_in', 'scope'],
  properties: {
    access_token: { ...text, description: 'Manages keys, and cannot speak.' },
    token_type: { ...text, enum: ['Bearer'], description: 'How to present it.' },
    expires_in: { type: 'integer', description: 'For how many seconds it is good.' },
    scope: { ...text, description: 'What it may do.' },
    issued_token_type: { ...text, description: 'Of a token that was exchanged.' },
  },
};
const refusalSchema: Schema = {
  title: 'TokenRefusal',
  description: 'As RFC 6749, section 5.2, has it.',
  type: 'object',
  required: ['error', 'error_description'],
  properties: {
    error: {
      ...text,
      enum: ['invalid_request', 'invalid_client', 'unsupported_grant_type'],
      description: 'What went wrong, as a stable word.',
    },
    error_description: { ...text, description: 'The same in a sentence.' },
  },
};
const json = (schema: Schema, example: unknown): Readonly<Record<string, Content>> => ({
  'application/json': { schema, example },
});
const page: Readonly<Record<string, Content>> = { 'text/html': { schema: text } };
const refusal = (error: string, error_description: string) => json(refusalSchema, { error, error_description });

export const beginSignInOperation: RouteDocs = {
  id: 'beginSignIn',
  tag: 'Keys',
  summary: 'Sign in to make API keys',
  description:
    'For people: a browser is sent to the operator’s sign-in and comes back to a page that makes keys. A program that accepts JSON is told where that would be.',
  answers: {
    200: {
      description: 'Where to sign in; or, for somebody who has, the page.',
      headers: ['Cache-Control'],
      content: {
        ...json(addressSchema, { authorization_url: 'https://id.example/authorize?client_id=sonant' }),
        ...page,
      },
    },
    302: { description: 'To sign in.', headers: ['Location', 'Cache-Control'] },
  },
  failures: ['access_denied', 'engine_unavailable', 'oauth_not_configured'],
  isPage: true,
};

export const takeTokenDocs: RouteDocs = {
  id: 'takeToken',
  tag: 'Keys',
  summary: 'Get a token that manages API keys',
  description:
    'For machines, as RFC 6749 has it: by the credentials of a client that is registered here, or by exchanging a token of the operator’s issuer (RFC 8693).',
  body: {
    examples: {},
    form: {
      type: 'application/x-www-form-urlencoded',
      schema: grantSchema,
      example: { grant_type: 'client_credentials', client_id: 'deployer', client_secret: 'its secret' },
    },
  },
  answers: {
    200: {
      description: 'The token.',
      headers: ['Cache-Control'],
      content: json(tokenSchema, {
        ...{ access_token: 'eyJhbGciOiJkaXIi', token_type: 'Bearer', expires_in: tokenSeconds },
        scope: 'keys:read keys:write',
      }),
    },
    400: {
      description: 'The request is not a good one.',
      headers: ['Cache-Control'],
      content: refusal('unsupported_grant_type', 'grant_type is client_credentials'),
    },
    401: {
      description: 'There is no such client, or its secret is another.',
      headers: ['Cache-Control', 'WWW-Authenticate'],
      content: refusal('invalid_client', 'there is no such client, or its secret is another'),
    },
  },
  failures: ['rate_limit_exceeded', 'engine_unavailable', 'oauth_not_configured'],
};
