// The settings of sign-in: the issuer, who may make keys, and the scopes of those keys.

import { flagSetting, listSetting, textSetting } from '../runtime/setting.ts';
import { defaultScopes, isScope, scopes } from './scopes.ts';

const isWebUrl = (text: string) => /^https?:\/\/[^/]/.test(text) && URL.canParse(text);
const secretCharsMin = 32;

export const oauthSettings = {
  oidcIssuer: textSetting({
    name: 'SONANT_OIDC_ISSUER',
    help: 'OpenID Connect issuer where people sign in at /oauth/get-key; without it, keys are made with sonant key',
    allowed: 'an https URL (http on this machine alone)',
    isAllowed: isWebUrl,
  }),
  oidcClientId: textSetting({
    name: 'SONANT_OIDC_CLIENT_ID',
    help: 'Id that Sonant has at the issuer; its redirect URI is SONANT_BASE_URL/oauth/callback',
  }),
  oidcClientSecret: textSetting({
    name: 'SONANT_OIDC_CLIENT_SECRET',
    help: 'Secret that Sonant has at the issuer; empty for a public client',
    secret: true,
  }),
  oidcAudience: textSetting({
    name: 'SONANT_OIDC_AUDIENCE',
    help: "Audience that the issuer's tokens must name to be exchanged; default: the client id",
  }),
  oidcSubjects: listSetting({
    name: 'SONANT_OIDC_SUBJECTS',
    help: 'Subjects who may make keys; * for everyone who can sign in at the issuer',
    allowed: 'subjects with commas between them, or *',
    isItem: (item) => item !== '',
  }),
  oidcDomains: listSetting({
    name: 'SONANT_OIDC_DOMAINS',
    help: 'Domains whose verified e-mail addresses may make keys',
    allowed: 'domains such as example.com',
    isItem: (item) => /^[a-z0-9.-]+\.[a-z0-9-]+$/i.test(item),
  }),
  oidcGroups: listSetting({
    name: 'SONANT_OIDC_GROUPS',
    help: 'Groups (the claim groups) whose members may make keys',
    allowed: 'groups with commas between them',
    isItem: (item) => item !== '',
  }),
  oauthClients: listSetting({
    name: 'SONANT_OAUTH_CLIENTS',
    help: 'Machines that may make keys with client credentials, each as id:SHA-256 of its secret in hexadecimal',
    allowed: 'id:64 hexadecimal digits, with commas between them',
    isItem: (item) => /^[\w.-]{1,64}:[0-9a-f]{64}$/i.test(item),
  }),
  oauthKeyScopes: listSetting({
    name: 'SONANT_OAUTH_KEY_SCOPES',
    help: `Scopes that keys made by signing in may have; default: ${[...defaultScopes, 'usage:read'].join(', ')}`,
    allowed: `scopes, of ${scopes.join(', ')}`,
    isItem: isScope,
  }),
  oidcInsecure: flagSetting({
    name: 'SONANT_OIDC_INSECURE',
    help: 'Allow an issuer without TLS on another machine',
  }),
  secret: textSetting({
    name: 'SONANT_SECRET',
    help: 'Secret that seals sign-in cookies, tokens, tickets and the secrets of webhooks; the same for all replicas; default: generated and stored in the data folder',
    allowed: `empty, or at least ${secretCharsMin} characters`,
    secret: true,
    isAllowed: (given) => given.length >= secretCharsMin,
  }),
};
