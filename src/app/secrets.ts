// Checks the settings of sign-in, and the secrets. Replicas that share a database must have the same secrets, because
// they read each other's sessions and clones. With a shared database, every secret must therefore be set and match the
// fingerprint in the database. Otherwise startup fails, unless the operator declares the secrets as new.
import { createHmac } from 'node:crypto';
import { isLoopbackUrl } from '../platform/net/client-addresses.ts';
import { ConfigError, type ConfigMistake } from '../platform/runtime/config-mistakes.ts';
import type { FingerprintRows } from '../platform/store/open-store.ts';
import type { Config } from './config.ts';

const isSafeUrl = (url: string) => url.startsWith('https:') || isLoopbackUrl(url);

/** Sign-in settings that are missing or contradict each other. */
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

const use = 'sonant replicas share this secret';

const source = 'for a shared database';

const secretsOf = ({ secret, masterKey, keyPepper }: Config) => ({
  SONANT_SECRET: { secret, isRequired: true },
  SONANT_MASTER_KEY: { secret: masterKey, isRequired: true },
  SONANT_KEY_PEPPER: { secret: keyPepper, isRequired: false },
});

/** Missing secrets that a shared database needs. */
export const missingSecrets = (config: Config): ConfigMistake[] =>
  Object.entries(config.databaseUrl === '' ? {} : secretsOf(config))
    .filter(([, { secret, isRequired }]) => secret === '' && isRequired)
    .map(([name]) => ({ name, source, allowed: 'must be set, to the same value on every replica' }));

/** Checks the shared secrets before anything is served. If startup is refused, no fingerprint is stored. */
export async function checkSharedSecrets(config: Config, rows: FingerprintRows): Promise<void> {
  const fingerprints = Object.entries(secretsOf(config)).map(
    ([name, { secret }]) => [name, createHmac('sha256', secret).update(use).digest('hex')] as const,
  );
  const mistakes: ConfigMistake[] = [];
  const compare = (name: string, fingerprint: string, known: string) => {
    if (known === fingerprint) return;
    const allowed =
      'differs from the value that other replicas of this database use; to change it, stop all replicas and set SONANT_NEW_SECRETS=1';
    mistakes.push({ name, source, allowed });
  };
  if (!config.areSecretsNew)
    for (const [name, fingerprint] of fingerprints) compare(name, fingerprint, (await rows.find(name)) ?? fingerprint);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  // Another replica may have recorded its own fingerprints in the meantime. Then no further one is recorded.
  for (const [name, fingerprint] of fingerprints) {
    compare(name, fingerprint, await rows.record(name, fingerprint, config.areSecretsNew));
    if (mistakes.length > 0) throw new ConfigError(mistakes);
  }
}
