// Ends the calls of a key that ends: of every call that runs, its key is looked at again every half second, or at once
// when told to, so that a revocation is heeded within a second wherever it was made. A key that cannot be looked at,
// because the store does not answer, is not taken for ended. Calls that manage keys are brief, and are left alone.
import type { Interceptor } from '@connectrpc/connect';
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { Failure } from '../errors.ts';
import { keyCheckMs } from '../operations/limits.ts';
import { admittedKey } from './call.ts';

export type IsInForce = (keyId: string) => Promise<boolean>;

export interface KeyWatch {
  interceptor: Interceptor;
  /** A key may have ended: looks at them all now. */
  check(): void;
  close(): void;
}

export function openKeyWatch(isInForce: IsInForce): KeyWatch {
  const calls = new Map<string, Set<AbortController>>();
  const check = async () => {
    for (const [keyId, ends] of [...calls]) {
      if (await isInForce(keyId).catch(() => true)) continue;
      for (const end of ends) end.abort(new Failure('invalid_api_key', { message: 'The API key is no longer valid.' }));
    }
  };
  let isChecking = false;
  let isDue = false;
  const checkAll = async () => {
    isDue = true;
    // One at a time, however long the store takes.
    if (isChecking) return;
    isChecking = true;
    while (isDue) {
      isDue = false;
      await check();
    }
    isChecking = false;
  };
  const timer = setInterval(() => {
    if (!isChecking) void checkAll();
  }, keyCheckMs);
  timer.unref();

  const interceptor: Interceptor = (next) => async (request) => {
    const keyId = request.contextValues.get(admittedKey)?.caller.keyId;
    // Where keys are managed, a key may end itself and is to hear that it did; and who has signed in has none.
    if (keyId === undefined || request.service === ApiKeyService) return next(request);
    const end = new AbortController();
    const ends = calls.get(keyId) ?? new Set();
    calls.set(keyId, ends.add(end));
    const forget = () => {
      ends.delete(end);
      if (ends.size === 0 && calls.get(keyId) === ends) calls.delete(keyId);
    };
    // Connect aborts it at the end of every call.
    request.signal.addEventListener('abort', forget, { once: true });
    if (request.signal.aborted) forget();
    return next({ ...request, signal: AbortSignal.any([request.signal, end.signal]) });
  };
  return { interceptor, check: () => void checkAll(), close: () => clearInterval(timer) };
}
