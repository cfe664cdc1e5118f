// Replicas on one database must have the same secrets: otherwise a session of one is not valid at another, and a clone
// encrypted by one cannot be decrypted by another. So on a shared database each secret must be set, and must match the
// fingerprint in the database; a start with another secret fails, unless the operator declares it as new.
import { createHmac } from 'node:crypto';
import { type Config, ConfigError, type ConfigMistake } from '../config.ts';
import { createPepper, type Pepper } from '../keys/api-key.ts';
import type { FingerprintRows } from '../store/fingerprint-rows.ts';

/** The pepper for the hashes of keys. */
export const pepperOf = ({ keyPepper }: Config): Pepper | undefined =>
  keyPepper === '' ? undefined : createPepper(keyPepper);

const use = 'sonant replicas share this secret';

/** Call before anything is served. */
export async function checkSharedSecrets(config: Config, rows: FingerprintRows): Promise<void> {
  const secrets = {
    SONANT_SECRET: { secret: config.secret, isRequired: true },
    SONANT_MASTER_KEY: { secret: config.masterKey, isRequired: true },
    SONANT_KEY_PEPPER: { secret: config.keyPepper, isRequired: false },
  };
  const mistakes: ConfigMistake[] = [];
  for (const [name, { secret, isRequired }] of Object.entries(secrets)) {
    const source = 'for a shared database';
    if (secret === '' && isRequired) {
      mistakes.push({ name, source, allowed: 'must be set, to the same value on every replica' });
      continue;
    }
    const fingerprint = createHmac('sha256', secret).update(use).digest('hex');
    if ((await rows.record(name, fingerprint, config.areSecretsNew)) === fingerprint) continue;
    const allowed =
      'differs from the one that the replicas of this database use; to change it, stop them and set SONANT_NEW_SECRETS=1';
    mistakes.push({ name, source, allowed });
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}
