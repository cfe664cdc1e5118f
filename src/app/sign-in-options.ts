// Converts the configuration to the options of sign-in, and finds settings of it that contradict each other.
import { readDataDirSecret } from '../access/data-dir-secret.ts';
import { createIssuer, type IssuerOptions } from '../access/oidc-issuer.ts';
import { createSeal, type Seal } from '../access/seal.ts';
import type { SignInOptions } from '../access/sign-in.ts';
import { isLoopbackUrl } from '../net/loopback.ts';
import type { Config, ConfigMistake } from './config.ts';

/** HTTPS, or a loopback address. */
const isSafeUrl = (url: string) => url.startsWith('https:') || isLoopbackUrl(url);

/** Encrypts with the service's secret. */
export const openSeal = async ({ secret, dataDir }: Config): Promise<Seal> =>
  createSeal(secret || (await readDataDirSecret(dataDir)));

export function signInMistakes(config: Config): ConfigMistake[] {
  const mistakes: ConfigMistake[] = [];
  const addMistake = (name: string, allowed: string) =>
    mistakes.push({ name, source: 'for SONANT_OIDC_ISSUER', allowed });
  if (config.oidcIssuer === '') return mistakes;
  if (config.oidcClientId === '') addMistake('SONANT_OIDC_CLIENT_ID', 'must be the client id of Sonant at the issuer');
  const rules = [config.oidcSubjects, config.oidcDomains, config.oidcGroups];
  if (rules.every((rule) => rule.length === 0))
    addMistake(
      'SONANT_OIDC_SUBJECTS',
      'must list who may create keys; or set SONANT_OIDC_DOMAINS or SONANT_OIDC_GROUPS',
    );
  if (config.baseUrl !== '' && !isSafeUrl(config.baseUrl))
    addMistake(
      'SONANT_BASE_URL',
      'must begin with https:, except on localhost: browsers store no session cookie without TLS',
    );
  if (config.baseUrl !== '' && new URL(config.baseUrl).pathname !== '/')
    addMistake('SONANT_BASE_URL', 'must not have a path: sign-in works only at the root of a host');
  return mistakes;
}

/** Undefined where no issuer is set. */
export function issuerOptionsOf(config: Config): IssuerOptions | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcInsecure } = config;
  const isInsecure = oidcInsecure || (issuer.startsWith('http:') && isSafeUrl(issuer));
  const audience = config.oidcAudience || clientId;
  return issuer === '' ? undefined : { issuer, clientId, clientSecret, audience, isInsecure };
}

export async function signInOptionsOf(config: Config): Promise<SignInOptions> {
  const issuer = issuerOptionsOf(config);
  return {
    seal: await openSeal(config),
    issuer: issuer && createIssuer(issuer),
    signInRules: { subjects: config.oidcSubjects, domains: config.oidcDomains, groups: config.oidcGroups },
    clients: config.oauthClients,
    keyScopes: config.oauthKeyScopes,
  };
}
