// The failures for a key that exceeds a limit. `retryAfterSeconds` is exact for requests and characters: a retry after it
// is admitted. When a concurrency slot will be free is unknown, so that failure suggests one second.
import { Failure } from '../errors.ts';
import type { KeyLimits } from './key-limits.ts';

export function tooManyRequests({ requestsPerMinute: limit }: KeyLimits, waitUs: number): Failure {
  const message = `This key may make ${limit} requests a minute.`;
  const retryAfterSeconds = waitUs / 1_000_000;
  return new Failure('rate_limit_exceeded', { message, limit, limitReason: 'requests', retryAfterSeconds });
}

/** Rejects a text that is longer than a whole monthly quota. */
export function checkFitsQuota(chars: number, quota: number): void {
  if (chars <= quota) return;
  const message = `This text has ${chars} characters, and this key may speak ${quota} in a month.`;
  const details = [{ field: 'text', reason: 'length', message }];
  throw new Failure('invalid_request', { message, limit: quota, actual: chars, details });
}

export function tooManyCharacters(chars: number, quota: number, left: number, waitMs: number): Failure {
  return new Failure('rate_limit_exceeded', {
    message: `This key may speak ${quota} characters in a month; ${Math.max(0, left)} are left of this one.`,
    limit: quota,
    actual: quota - left + chars,
    limitReason: 'characters',
    retryAfterSeconds: waitMs / 1000,
  });
}

export function tooManyAtOnce({ concurrency: limit }: KeyLimits): Failure {
  const message = `This key may have ${limit} syntheses running at once.`;
  return new Failure('rate_limit_exceeded', { message, limit, limitReason: 'concurrency', retryAfterSeconds: 1 });
}
