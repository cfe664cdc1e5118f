// Computes the rate limit of a key, its status, and the failures for exceeded limits.
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { type Rate, statusAt } from '../../platform/rate.ts';
import type { KeyLimits } from '../keys/caller.ts';
import { monthAt } from './usage-ledger.ts';

export interface LimitStatus {
  limits: KeyLimits;
  requests: { remaining: number; fullInSeconds: number };
  /** Present only for a key with a monthly quota. */
  characters?: { remaining: number; fullInSeconds: number };
}

/** Receives the status of a key, even if its request is rejected. */
export type ReportLimitStatus = (limitStatus: LimitStatus) => void;

const burstMax = 100;

export const rateOf = ({ requestsPerMinute }: Pick<KeyLimits, 'requestsPerMinute'>): Rate => ({
  perMinute: requestsPerMinute,
  burst: Math.min(burstMax, requestsPerMinute),
});

/** Number of characters left in a monthly quota, and the end of the month. */
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

/** Combines the limits of the first status, which is the key's own, with the smallest remainders of all statuses. */
export function leastOf(all: readonly LimitStatus[]): LimitStatus {
  const [own] = all as readonly [LimitStatus, ...LimitStatus[]];
  if (all.length === 1) return own;
  const least = (items: readonly LimitStatus['requests'][]) => items.toSorted((a, b) => a.remaining - b.remaining)[0];
  const characters = least(all.flatMap((each) => each.characters ?? []));
  return { limits: own.limits, requests: least(all.map((each) => each.requests))!, ...(characters && { characters }) };
}

/** `isOwn` is true for a limit of the key itself, and false for a limit that all keys of the account share. */
const toSubject = (isOwn: boolean) => (isOwn ? 'This key' : 'All keys of this account together');

export function tooManyRequests({ requestsPerMinute: limit }: KeyLimits, waitUs: number, isOwn: boolean): Failure {
  const message = `${toSubject(isOwn)} reached the limit of ${limit} requests a minute.`;
  const retryAfterSeconds = waitUs / 1_000_000;
  return new Failure('rate_limit_exceeded', { message, limit, limitReason: 'requests', retryAfterSeconds });
}

/** Rejects a text that exceeds the whole monthly quota; no retry can help. */
export function checkFitsQuota(chars: number, quota: number | undefined, isOwn: boolean): void {
  if (quota === undefined || chars <= quota) return;
  const subject = isOwn ? 'this key' : 'all keys of this account together';
  const message = `This text has ${chars} characters; the limit for ${subject} is ${quota} a month.`;
  const details: FieldViolation[] = [{ field: 'text', reason: 'length', message }];
  throw new Failure('invalid_request', { message, limit: quota, actual: chars, details });
}

type SpentQuota = Record<'chars' | 'quota' | 'left' | 'nowMs', number> & { isOwn: boolean };

export function tooManyCharacters({ chars, quota, left, isOwn, nowMs }: SpentQuota): Failure {
  const { endsMs } = monthAt(nowMs);
  const fits = chars <= quota;
  const rest = fits
    ? `${Math.max(0, left)} are left until ${new Date(endsMs).toISOString().slice(0, 10)} (UTC)`
    : `this text has ${chars}`;
  return new Failure('rate_limit_exceeded', {
    message: `${toSubject(isOwn)} may use ${quota} characters a month; ${rest}.`,
    limit: quota,
    actual: quota - left + chars,
    limitReason: 'characters',
    retryAfterSeconds: fits ? (endsMs - nowMs) / 1000 : Infinity,
  });
}

export function tooManyAtOnce({ concurrency: limit }: KeyLimits, isOwn: boolean): Failure {
  const message = `${toSubject(isOwn)} reached the limit of ${limit} syntheses at once.`;
  return new Failure('rate_limit_exceeded', { message, limit, limitReason: 'concurrency', retryAfterSeconds: 1 });
}
