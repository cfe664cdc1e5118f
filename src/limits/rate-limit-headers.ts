// The state of a key's limits as headers of every answer (draft-ietf-httpapi-ratelimit-headers):
//
//     RateLimit-Policy: "requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"
//     RateLimit: "requests";r=87;t=2                r: how many may come now; t: seconds until all may again
import type { LimitStatus } from './limit-status.ts';

const monthSeconds = 30 * 24 * 3600;

export type RateLimitHeaders = Readonly<Record<'RateLimit-Policy' | 'RateLimit', string>>;

export function toRateLimitHeaders({ limits, requests, characters }: LimitStatus): RateLimitHeaders {
  const { requestsPerMinute, concurrency, charactersPerMonth } = limits;
  const policies = [
    `"requests";q=${requestsPerMinute};w=60`,
    `"concurrency";q=${concurrency};qu="concurrent-requests"`,
    ...(charactersPerMonth === undefined ? [] : [`"characters";q=${charactersPerMonth};w=${monthSeconds}`]),
  ];
  const item = (name: string, { remaining, fullInSeconds }: LimitStatus['requests']) =>
    `"${name}";r=${remaining};t=${fullInSeconds}`;
  const items = [item('requests', requests), ...(characters ? [item('characters', characters)] : [])];
  return { 'RateLimit-Policy': policies.join(', '), RateLimit: items.join(', ') };
}
