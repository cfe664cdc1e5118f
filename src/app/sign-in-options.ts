// Converts the configuration to the options of sign-in; all settings that contradict each other are reported together.

import { type Config, ConfigError, type ConfigMistake } from '../config.ts';
import { isLoopbackUrl } from '../net/loopback.ts';
import { readDataDirSecret } from '../secrets/data-dir-secret.ts';
import { createSeal, type Seal } from '../secrets/seal.ts';
import { createIssuer } from '../sign-in/oidc-issuer.ts';
import type { SignInOptions } from '../sign-in/sign-in.ts';

/** HTTPS, or a loopback address. */
const isSafeUrl = (url: string) => url.startsWith('https:') || isLoopbackUrl(url);

/** Encrypts with the service's secret. */
export const openSeal = async ({ secret, dataDir }: Config): Promise<Seal> =>
  createSeal(secret || (await readDataDirSecret(dataDir)));

export async function signInOptionsOf(config: Config): Promise<SignInOptions> {
  const { oidcIssuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcInsecure } = config;
  const mistakes: ConfigMistake[] = [];
  const addMistake = (name: string, allowed: string) =>
    mistakes.push({ name, source: 'for SONANT_OIDC_ISSUER', allowed });
  if (oidcIssuer !== '') {
    if (clientId === '') addMistake('SONANT_OIDC_CLIENT_ID', 'must be the client id of Sonant at the issuer');
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
  }
  if (oidcIssuer !== '' && config.baseUrl !== '' && new URL(config.baseUrl).pathname !== '/')
    addMistake('SONANT_BASE_URL', 'must not have a path: sign-in works only at the root of a host');
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const isInsecure = oidcInsecure || (oidcIssuer.startsWith('http:') && isSafeUrl(oidcIssuer));
  const issuer = { issuer: oidcIssuer, clientId, clientSecret, audience: config.oidcAudience || clientId, isInsecure };
  return {
    seal: await openSeal(config),
    issuer: oidcIssuer === '' ? undefined : createIssuer(issuer),
    signInRules: { subjects: config.oidcSubjects, domains: config.oidcDomains, groups: config.oidcGroups },
    clients: config.oauthClients,
    keyScopes: config.oauthKeyScopes,
  };
}
