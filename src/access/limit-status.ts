// How much of its limits a key has left, and the headers of every response that report it
// (draft-ietf-httpapi-ratelimit-headers):
//
//     RateLimit-Policy: "requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"
//     RateLimit: "requests";r=87;t=2                r: how many may come now; t: seconds until all may again
import { type Rate, statusAt } from './gcra.ts';
import type { KeyLimits } from './key-limits.ts';

export interface LimitStatus {
  limits: KeyLimits;
  requests: { remaining: number; fullInSeconds: number };
  /** Only for a key with a monthly quota. */
  characters?: { remaining: number; fullInSeconds: number };
}

/** Receives the status of a key, also when its request is rejected. */
export type ReportLimitStatus = (limitStatus: LimitStatus) => void;

const burstMax = 100;

export const rateOf = ({ requestsPerMinute }: Pick<KeyLimits, 'requestsPerMinute'>): Rate => ({
  perMinute: requestsPerMinute,
  burst: Math.min(burstMax, requestsPerMinute),
});

/** What is left of a monthly quota, and when the month ends. */
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

/** The status of a key, by its own policy, with the least that any of the statuses has left; its own is the first. */
export function leastOf(all: readonly LimitStatus[]): LimitStatus {
  const [own] = all as readonly [LimitStatus, ...LimitStatus[]];
  if (all.length === 1) return own;
  const least = (items: readonly LimitStatus['requests'][]) => items.toSorted((a, b) => a.remaining - b.remaining)[0];
  const characters = least(all.flatMap((each) => each.characters ?? []));
  return { limits: own.limits, requests: least(all.map((each) => each.requests))!, ...(characters && { characters }) };
}

const monthSeconds = 30 * 24 * 3600;

export function toRateLimitHeaders({
  limits,
  requests,
  characters,
}: LimitStatus): Record<'ratelimit-policy' | 'ratelimit', string> {
  const item = (name: string, { remaining, fullInSeconds }: LimitStatus['requests']) =>
    `"${name}";r=${remaining};t=${fullInSeconds}`;
  const first = item('requests', requests);
  const ratelimit = characters ? `${first}, ${item('characters', characters)}` : first;
  return { 'ratelimit-policy': policyOf(limits), ratelimit };
}

function policyOf({ requestsPerMinute, concurrency, charactersPerMonth }: KeyLimits): string {
  const characters = charactersPerMonth === undefined ? '' : `, "characters";q=${charactersPerMonth};w=${monthSeconds}`;
  return `"requests";q=${requestsPerMinute};w=60, "concurrency";q=${concurrency};qu="concurrent-requests"${characters}`;
}
