// The limits of a key in the headers of every response (draft-ietf-httpapi-ratelimit-headers):
//
//     RateLimit-Policy: "requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"
//     RateLimit: "requests";r=87;t=2                r: how many are allowed now; t: seconds until all are again
//
// RPC sends them as response headers. The HTTP gateway receives them through the context and sends its own.
import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { LimitStatus, ReportLimitStatus } from './limit-status.ts';

const monthSeconds = 30 * 24 * 3600;

export type RateLimitHeaders = Readonly<Record<'RateLimit-Policy' | 'RateLimit', string>>;
type SendHeaders = (headers: RateLimitHeaders) => void;

/** Set by the HTTP gateway to receive the headers. */
export const limitStatusKey: ContextKey<SendHeaders | undefined> = createContextKey(undefined, {
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

/** Reports the limit status of the caller in the headers of the response. */
export function limitStatusReporter({
  values,
  responseHeader,
}: Pick<HandlerContext, 'values' | 'responseHeader'>): ReportLimitStatus {
  const send: SendHeaders =
    values.get(limitStatusKey) ??
    ((headers) => {
      for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
    });
  return (limitStatus) => send(toRateLimitHeaders(limitStatus));
}
