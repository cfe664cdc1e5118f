// Replicas on one database must have the same secrets: else a page that was signed in at one is a stranger at another, and
// voices that one has sealed no other can open. So where the database is shared, each secret must be given, and must be
// the one that the database has seen before; a start with another is refused, unless the operator says that it is new.
import { createHmac } from 'node:crypto';
import { type Config, ConfigError, type ConfigMistake } from '../config.ts';
import type { FingerprintRows } from '../store/fingerprint-rows.ts';

const use = 'sonant replicas share this secret';

/** To be asked before anything is served. */
export async function checkSharedSecrets(config: Config, rows: FingerprintRows): Promise<void> {
  const secrets = {
    SONANT_SECRET: { secret: config.secret, isNeeded: true },
    SONANT_MASTER_KEY: { secret: config.masterKey, isNeeded: true },
    SONANT_KEY_PEPPER: { secret: config.keyPepper, isNeeded: false },
  };
  const mistakes: ConfigMistake[] = [];
  for (const [name, { secret, isNeeded }] of Object.entries(secrets)) {
    const source = 'for a shared database';
    if (secret === '' && isNeeded) {
      mistakes.push({ name, source, allowed: 'must be set, the same at every replica' });
      continue;
    }
    const fingerprint = createHmac('sha256', secret).update(use).digest('hex');
    if ((await rows.record(name, fingerprint, config.areSecretsNew)) === fingerprint) continue;
    const allowed =
      'is another one than the replicas of this database have; to change it, stop them and set SONANT_NEW_SECRETS=1';
    mistakes.push({ name, source, allowed });
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}
