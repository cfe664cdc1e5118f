// The settings of API keys, sign-in, the service’s secrets and webhooks.
import { isAddressBlock } from '../platform/net/client-addresses.ts';
import {
  flagSetting,
  integerSetting,
  isWebUrl,
  listSetting,
  longSecretSetting,
  pathSetting,
  textSetting,
} from '../platform/runtime/setting-types.ts';
import { parseApiKey } from './keys/api-key.ts';
import { isScope, keyDefaults, scopes } from './keys/caller.ts';

/** An API key in the form that `sonant key create` prints. */
export const apiKeySetting = (setting: { name: `SONANT_${string}`; help: string }) =>
  textSetting({
    ...setting,
    allowed: 'an API key as sonant key create prints them',
    isAllowed: (given) => parseApiKey(given) !== undefined,
    secret: true,
  });

export const accountSettings = {
  bootstrapKey: apiKeySetting({
    name: 'SONANT_BOOTSTRAP_KEY',
    help: 'API key, in the form that sonant key create prints, accepted from the first start; a former bootstrap key is revoked',
  }),
  firstKeyFile: pathSetting({
    name: 'SONANT_FIRST_KEY_FILE',
    // The first start writes a key to the file.
    explicitOnly: true,
    help: 'File for the key that the first start creates, readable only by its owner; default: first-key in the data folder',
  }),
  keyPepper: textSetting({
    name: 'SONANT_KEY_PEPPER',
    help: 'Secret for the hashes of API keys (HMAC); changing it invalidates all keys created with the old one',
    secret: true,
  }),
  areSecretsNew: flagSetting({
    name: 'SONANT_NEW_SECRETS',
    help: 'Accept secrets that differ from those used with the shared database before',
  }),
  badKeysPerMinute: integerSetting({
    name: 'SONANT_BAD_KEYS_PER_MINUTE',
    help: 'Attempts without a valid API key per address and minute; more are rejected with Retry-After',
    range: [1, 1_000_000],
    fallback: 60,
  }),
  oidcIssuer: textSetting({
    name: 'SONANT_OIDC_ISSUER',
    help: 'OpenID Connect issuer for the sign-in at /oauth/get-key; without it, create keys with sonant key',
    allowed: 'an https URL (http on this machine alone)',
    isAllowed: isWebUrl,
  }),
  oidcClientId: textSetting({
    name: 'SONANT_OIDC_CLIENT_ID',
    help: 'Client id of Sonant at the issuer; its redirect URI is SONANT_BASE_URL/oauth/callback',
  }),
  oidcClientSecret: textSetting({
    name: 'SONANT_OIDC_CLIENT_SECRET',
    help: 'Client secret of Sonant at the issuer; empty for a public client',
    secret: true,
  }),
  oidcAudience: textSetting({
    name: 'SONANT_OIDC_AUDIENCE',
    help: 'Audience that a token of the issuer must name to be exchanged; default: the client id',
  }),
  oidcSubjects: listSetting({
    name: 'SONANT_OIDC_SUBJECTS',
    help: 'Subjects who may create keys; * for everyone who can sign in at the issuer',
    allowed: 'subjects separated by commas, or *',
    isItem: (item) => item !== '',
  }),
  oidcDomains: listSetting({
    name: 'SONANT_OIDC_DOMAINS',
    help: 'Domains whose verified e-mail addresses may create keys',
    allowed: 'domains such as example.com',
    isItem: (item) => /^[a-z0-9.-]+\.[a-z0-9-]+$/i.test(item),
  }),
  oidcGroups: listSetting({
    name: 'SONANT_OIDC_GROUPS',
    help: 'Groups (the claim groups) whose members may create keys',
    allowed: 'groups separated by commas',
    isItem: (item) => item !== '',
  }),
  oauthClients: listSetting({
    name: 'SONANT_OAUTH_CLIENTS',
    help: 'Machines that may create keys with client credentials, each as id:SHA-256 of its secret in hexadecimal',
    allowed: 'id:64 hexadecimal digits, separated by commas',
    isItem: (item) => /^[\w.-]{1,64}:[0-9a-f]{64}$/i.test(item),
  }),
  oauthKeyScopes: listSetting({
    name: 'SONANT_OAUTH_KEY_SCOPES',
    help: `Scopes that keys created by signing in may have; default: ${[...keyDefaults.scopes, 'usage:read'].join(', ')}`,
    allowed: `scopes, of ${scopes.join(', ')}`,
    isItem: isScope,
  }),
  oidcInsecure: flagSetting({
    name: 'SONANT_OIDC_INSECURE',
    help: 'Allow an issuer without TLS on another machine',
  }),
  secret: longSecretSetting({
    name: 'SONANT_SECRET',
    help: 'Secret that encrypts sign-in cookies, tokens, tickets and webhook secrets; the same for all replicas; default: generated and stored in the data folder',
  }),
  webhookAllow: listSetting({
    name: 'SONANT_WEBHOOK_ALLOW',
    help: 'Destinations of webhooks besides public addresses, also without TLS: host names, addresses and CIDR blocks, separated by commas',
    allowed: 'host names such as hooks.internal, addresses, or CIDR blocks such as 10.0.0.0/8',
    isItem: (item) => isAddressBlock(item) || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(item),
  }),
};
