// The keys for a test, as the operator and a caller on this machine have them: made, listed, ended and verified in one.

import type { AskedKey } from '../../src/access/asked-key.ts';
import { type ChangedKey, createKeyDesk } from '../../src/access/key-desk.ts';
import { operatorErrand } from '../../src/access/key-errand.ts';
import { createKeyring, type KeyringOptions } from '../../src/access/keyring.ts';

export interface OpenKeysOptions extends KeyringOptions {
  /** Told of a change besides the keyring. */
  onChange?: (changed: ChangedKey) => Promise<void>;
}

export function openKeys({ onChange = async () => {}, ...options }: OpenKeysOptions) {
  const keyring = createKeyring(options);
  const tell = (changed: ChangedKey) => {
    keyring.forget();
    return onChange(changed);
  };
  const desk = createKeyDesk({ ...options, onChange: tell });
  return {
    ...keyring,
    desk,
    verify: (presented: string | undefined, address = '127.0.0.1') => keyring.verify(presented, address),
    create: (asked: AskedKey = {}) => desk.create(asked, operatorErrand),
    list: (beforeKeyId?: string) => desk.list(operatorErrand, { size: 1000, beforeKeyId }),
    revoke: (keyId: string) => desk.revoke(keyId, operatorErrand),
  };
}

export type Keys = ReturnType<typeof openKeys>;
