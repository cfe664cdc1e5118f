// Ends the running calls of an API key that is revoked or expires. Each key is looked up every half second, and at once
// when a key is known to have changed. A revocation therefore takes effect within a second. If the store does not
// answer, keys count as valid.
import { Failure } from '../platform/errors.ts';
import { keyCheckMs } from './call-limits.ts';

export type IsInForce = (keyId: string) => Promise<boolean>;
type End = (failure: Failure) => void;

export type KeyWatch = ReturnType<typeof openKeyWatch>;

export function openKeyWatch(isInForce: IsInForce) {
  const calls = new Map<string, Set<End>>();
  const checkAll = async () => {
    for (const [keyId, ends] of [...calls]) {
      if (await isInForce(keyId).catch(() => true)) continue;
      for (const end of [...ends]) end(new Failure('invalid_api_key', { message: 'The API key is no longer valid.' }));
    }
  };
  let isChecking = false;
  let isDue = false;
  const check = async () => {
    isDue = true;
    // Only one check runs at a time, however slow the store is.
    if (isChecking) return;
    isChecking = true;
    try {
      while (isDue) {
        isDue = false;
        await checkAll();
      }
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => {
    if (!isChecking) void check();
  }, keyCheckMs);
  timer.unref();

  return {
    /** Calls `end` when the key is revoked or expires. Returns a function that stops watching. */
    watch(keyId: string, end: End): () => void {
      const ends = calls.get(keyId) ?? new Set();
      calls.set(keyId, ends.add(end));
      return () => {
        ends.delete(end);
        if (ends.size === 0 && calls.get(keyId) === ends) calls.delete(keyId);
      };
    },
    /** Checks all keys now, because a key may have been revoked. */
    check: (): void => void check(),
    close: (): void => clearInterval(timer),
  };
}
