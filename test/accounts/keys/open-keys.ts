// Opens key management and verification for tests, with the operator as actor, and a caller on this machine.

import type { KeyFields } from '../../../src/accounts/keys/api-key.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { createKeyManagement } from '../../../src/accounts/keys/key-management.ts';
import { createKeyVerifier, type KeyVerifierOptions } from '../../../src/accounts/keys/key-verifier.ts';

export function openKeys(options: KeyVerifierOptions) {
  const keyVerifier = createKeyVerifier(options);
  const management = createKeyManagement({ ...options, onChange: keyVerifier.forget });
  return {
    ...keyVerifier,
    management,
    verify: (presented: string | undefined, address = '127.0.0.1') => keyVerifier.verify(presented, address),
    create: (request: KeyFields = {}) => management.create(request, operator),
    list: (beforeKeyId?: string) => management.list(operator, { size: 1000, beforeKeyId }),
    revoke: (keyId: string) => management.revoke(keyId, operator),
  };
}

export type Keys = ReturnType<typeof openKeys>;
