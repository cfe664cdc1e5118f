// What callers are told who are over a limit of their key. Every wait is true: who comes back after just that long is let
// in; but when a place will be free nobody knows, and a second is a guess.
import { Failure } from '../errors.ts';
import { type Rate, statusAt } from './gcra.ts';
import type { KeyLimits } from './key-limits.ts';
import type { LimitStatus } from './limiter.ts';

const burstMax = 100;

export const rateOf = ({ requestsPerMinute }: Pick<KeyLimits, 'requestsPerMinute'>): Rate => ({
  perMinute: requestsPerMinute,
  burst: Math.min(burstMax, requestsPerMinute),
});

/** Of the month, as far as there is a limit: how many are left, and until when. */
export interface LeftOfMonth {
  characters: number;
  endsMs: number;
}

export function toLimitStatus(limits: KeyLimits, fullAtUs: number, nowUs: number, left?: LeftOfMonth): LimitStatus {
  const { remaining, fullInUs } = statusAt(fullAtUs, nowUs, rateOf(limits));
  const requests = { remaining, fullInSeconds: Math.ceil(fullInUs / 1_000_000) };
  if (!left) return { limits, requests };
  const fullInSeconds = Math.ceil((left.endsMs - nowUs / 1000) / 1000);
  return { limits, requests, characters: { remaining: Math.max(0, left.characters), fullInSeconds } };
}

export function tooManyRequests({ requestsPerMinute: limit }: KeyLimits, waitUs: number): Failure {
  const message = `This key may make ${limit} requests a minute.`;
  const facts = { message, limit, limitReason: 'requests' as const, retryAfterSeconds: waitUs / 1_000_000 };
  return new Failure('rate_limit_exceeded', facts);
}

/** Unless the text has more characters than any month. */
export function checkText(chars: number, most: number): void {
  if (chars <= most) return;
  const message = `This text has ${chars} characters, and this key may speak ${most} in a month.`;
  const details = [{ field: 'text', reason: 'length', message }];
  throw new Failure('invalid_request', { message, limit: most, actual: chars, details });
}

export function tooManyCharacters(chars: number, most: number, left: number, waitMs: number): Failure {
  const message = `This key may speak ${most} characters in a month; ${Math.max(0, left)} are left of this one.`;
  const facts = { message, limit: most, actual: most - left + chars, limitReason: 'characters' as const };
  return new Failure('rate_limit_exceeded', { ...facts, retryAfterSeconds: waitMs / 1000 });
}

export function tooManyAtOnce({ concurrency: limit }: KeyLimits): Failure {
  const message = `This key may have ${limit} syntheses running at once.`;
  const facts = { message, limit, limitReason: 'concurrency' as const, retryAfterSeconds: 1 };
  return new Failure('rate_limit_exceeded', facts);
}
