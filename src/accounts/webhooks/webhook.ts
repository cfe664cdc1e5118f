// Webhooks that notify a receiver of events, according to Standard Webhooks (https://www.standardwebhooks.com). A
// message is a row that is added in the transaction of its event, so neither exists without the other. A worker
// delivers each message at least once.
import type { Rows } from '../../platform/store/row-store.ts';

type WebhookEvent = 'job.succeeded' | 'job.failed' | 'job.canceled';

export interface WebhookMessage {
  /** The `webhook-id` header, which is the same in every attempt. A message whose id exists is not added again. */
  messageId: string;
  /** The key whose secret signs the message. */
  keyId: string;
  /** The account of the message. The sender serves accounts fairly. */
  accountId: string;
  url: string;
  event: WebhookEvent;
  /** The member `data` of the body. */
  data: object;
  atMs: number;
}

export interface Webhooks {
  /** Throws `invalid_request` for `webhook_url` if the URL may not be called or the key has no secret. */
  check(url: string, keyId: string): Promise<void>;
  /** Adds the message in the caller's transaction. */
  add(rows: Rows, message: WebhookMessage): Promise<void>;
  /** Looks for due messages. Call it after the transaction. */
  wake(): void;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const webhookUrlCharsMax = 2_000;
/** A larger body is replaced by a body that only identifies the subject. */
export const bodyBytesMax = 512 * 1024;
/** Time limit of one attempt, from the name lookup to the response status. */
export const attemptMs = 15_000;
/** Time for which a claimed message is reserved for one process; longer than an attempt. */
export const leaseMs = minuteMs;

/** Delays between attempts. The last delay is repeated. */
export const waitsMs = [5_000, 30_000, 2 * minuteMs, 5 * minuteMs, 15 * minuteMs, 30 * minuteMs, hourMs] as const;
/** Random share of a delay, so that messages that failed together are not retried together. */
export const waitSpread = 0.2;
/** Longest delay that a receiver may request. */
export const retryAfterMsMax = 4 * hourMs;
/** Time from the addition of a message to its last attempt. */
export const retriedMs = 24 * hourMs;
/** Time for which a delivery's result can be looked up. */
export const endedKeepMs = 72 * hourMs;

export const attemptsMax = 64;
export const attemptsPerHostMax = 4;
export const attemptsPerAccountMax = 16;
/** Interval of the check for due messages. */
export const pollMs = 5_000;
