// The keys for a test, as the operator and a caller on this machine have them: made, listed, ended and verified in one.

import { operator } from '../../src/keys/actor.ts';
import type { KeyFields } from '../../src/keys/key-fields.ts';
import { type ChangedKey, createKeyManagement } from '../../src/keys/key-management.ts';
import { createKeyVerifier, type KeyVerifierOptions } from '../../src/keys/key-verifier.ts';

export interface OpenKeysOptions extends KeyVerifierOptions {
  /** Told of a change besides the keyring. */
  onChange?: (changed: ChangedKey) => Promise<void>;
}

export function openKeys({ onChange = async () => {}, ...options }: OpenKeysOptions) {
  const keyVerifier = createKeyVerifier(options);
  const tell = (changed: ChangedKey) => {
    keyVerifier.forget();
    return onChange(changed);
  };
  const desk = createKeyManagement({ ...options, onChange: tell });
  return {
    ...keyVerifier,
    desk,
    verify: (presented: string | undefined, address = '127.0.0.1') => keyVerifier.verify(presented, address),
    create: (asked: KeyFields = {}) => desk.create(asked, operator),
    list: (beforeKeyId?: string) => desk.list(operator, { size: 1000, beforeKeyId }),
    revoke: (keyId: string) => desk.revoke(keyId, operator),
  };
}

export type Keys = ReturnType<typeof openKeys>;
