// Replicas on one database must have the same secrets: otherwise a session of one is not valid at another, and a clone
// encrypted by one cannot be decrypted by another. So on a shared database each secret must be set, and must match the
// fingerprint in the database; a start with another secret fails, unless the operator declares it as new.
import { createHmac } from 'node:crypto';
import { createPepper, type Pepper } from '../access/api-key.ts';
import type { FingerprintRows } from '../store/fingerprint-rows.ts';
import { type Config, ConfigError, type ConfigMistake } from './config.ts';

/** The pepper for the hashes of keys. */
export const pepperOf = ({ keyPepper }: Config): Pepper | undefined =>
  keyPepper === '' ? undefined : createPepper(keyPepper);

const use = 'sonant replicas share this secret';

const source = 'for a shared database';

const secretsOf = ({ secret, masterKey, keyPepper }: Config) => ({
  SONANT_SECRET: { secret, isRequired: true },
  SONANT_MASTER_KEY: { secret: masterKey, isRequired: true },
  SONANT_KEY_PEPPER: { secret: keyPepper, isRequired: false },
});

/** The secrets that a shared database needs and that are not set. */
export const missingSecrets = (config: Config): ConfigMistake[] =>
  Object.entries(config.databaseUrl === '' ? {} : secretsOf(config))
    .filter(([, { secret, isRequired }]) => secret === '' && isRequired)
    .map(([name]) => ({ name, source, allowed: 'must be set, to the same value on every replica' }));

/** Call before anything is served. A start that is refused leaves no fingerprint. */
export async function checkSharedSecrets(config: Config, rows: FingerprintRows): Promise<void> {
  const fingerprints = Object.entries(secretsOf(config)).map(
    ([name, { secret }]) => [name, createHmac('sha256', secret).update(use).digest('hex')] as const,
  );
  const mistakes: ConfigMistake[] = [];
  const compare = (name: string, fingerprint: string, known: string) => {
    if (known === fingerprint) return;
    const allowed =
      'differs from the one that the replicas of this database use; to change it, stop them and set SONANT_NEW_SECRETS=1';
    mistakes.push({ name, source, allowed });
  };
  if (!config.areSecretsNew)
    for (const [name, fingerprint] of fingerprints) compare(name, fingerprint, (await rows.find(name)) ?? fingerprint);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  // Another replica may have recorded its own meanwhile.
  for (const [name, fingerprint] of fingerprints)
    compare(name, fingerprint, await rows.record(name, fingerprint, config.areSecretsNew));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}
