// How a key stands with its limits, told in the headers of every answer (draft-ietf-httpapi-ratelimit-headers):
//
//     RateLimit-Policy: "requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"
//     RateLimit: "requests";r=87;t=2                r: how many may come now; t: seconds until all may again
//
// Over RPC they are headers of the answer. A door in this process that has headers of its own is told through the context.
import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { LimitStatus } from './limiter.ts';

const monthSeconds = 30 * 24 * 3600;

export type RateLimitHeaders = Readonly<Record<'RateLimit-Policy' | 'RateLimit', string>>;
type ReportStatus = (headers: RateLimitHeaders) => void;

/** Set by a door that tells it in its own headers. */
export const limitStatusKey: ContextKey<ReportStatus | undefined> = createContextKey(undefined, {
  description: 'limitStatus',
});

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

/** Who is to be told how the caller of this call stands. */
export function tellerOf({ values, responseHeader }: Pick<HandlerContext, 'values' | 'responseHeader'>) {
  const tell: ReportStatus =
    values.get(limitStatusKey) ??
    ((headers) => {
      for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
    });
  return (limitStatus: LimitStatus) => tell(toRateLimitHeaders(limitStatus));
}
