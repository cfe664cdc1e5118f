// Whether a call may be made. The order is the contract's: is there a well-formed key (no look-up), is it one of ours
// and in force, does it have every scope that the call needs.
import { Failure } from '../errors.ts';
import type { KeyCaller, Keyring } from './keyring.ts';

/**
 * The caller who holds the key, or a Failure `invalid_api_key` or `insufficient_scope`. `presentedKey` is the key as it
 * came, undefined if none did; where no scope is required, any key will do.
 */
export type Admit = (presentedKey: string | undefined, requiredScopes: readonly string[]) => Promise<KeyCaller>;

export function createAdmit(keyring: Pick<Keyring, 'verify'>): Admit {
  return async (presentedKey, requiredScopes) => {
    const caller = await keyring.verify(presentedKey);
    const held: readonly string[] = caller.scopes;
    if (!requiredScopes.every((scope) => held.includes(scope)))
      throw new Failure('insufficient_scope', { requiredScopes });
    return caller;
  };
}
