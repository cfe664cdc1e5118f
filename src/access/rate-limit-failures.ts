// The failures for a key that exceeds a limit. `retryAfterSeconds` is exact for requests and characters: a retry after it
// is admitted. When a concurrency slot will be free is unknown, so that failure suggests one second.
import { Failure, type FieldViolation } from '../errors.ts';
import type { KeyLimits } from './key-limits.ts';

/** `isOwn`: the limit is the key's own, not that of the account that its keys share. */
const toSubject = (isOwn: boolean) => (isOwn ? 'This key' : 'All keys of this account together');

export function tooManyRequests({ requestsPerMinute: limit }: KeyLimits, waitUs: number, isOwn: boolean): Failure {
  const message = `${toSubject(isOwn)} may make ${limit} requests a minute.`;
  const retryAfterSeconds = waitUs / 1_000_000;
  return new Failure('rate_limit_exceeded', { message, limit, limitReason: 'requests', retryAfterSeconds });
}

/** Rejects a whole text that is longer than a whole monthly quota: no retry can help. */
export function checkFitsQuota(chars: number, quota: number | undefined, isOwn: boolean): void {
  if (quota === undefined || chars <= quota) return;
  const subject = isOwn ? 'this key' : 'all keys of this account together';
  const message = `This text has ${chars} characters, and ${subject} may speak ${quota} in a month.`;
  const details: FieldViolation[] = [{ field: 'text', reason: 'length', message }];
  throw new Failure('invalid_request', { message, limit: quota, actual: chars, details });
}

export function tooManyCharacters(
  { chars, quota, left, isOwn }: { chars: number; quota: number; left: number; isOwn: boolean },
  waitMs: number,
): Failure {
  return new Failure('rate_limit_exceeded', {
    message: `${toSubject(isOwn)} may speak ${quota} characters in a month; ${Math.max(0, left)} are left of this one.`,
    limit: quota,
    actual: quota - left + chars,
    limitReason: 'characters',
    retryAfterSeconds: waitMs / 1000,
  });
}

export function tooManyAtOnce({ concurrency: limit }: KeyLimits, isOwn: boolean): Failure {
  const message = `${toSubject(isOwn)} may have ${limit} syntheses running at once.`;
  return new Failure('rate_limit_exceeded', { message, limit, limitReason: 'concurrency', retryAfterSeconds: 1 });
}
