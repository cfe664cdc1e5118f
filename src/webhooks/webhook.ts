// The contract of webhooks: what tells the receiver that something has happened, by Standard Webhooks
// (https://www.standardwebhooks.com). A message is a row, added in the transaction of what it tells of, so that neither is
// without the other; a worker delivers it at least once.
import type { Rows } from '../store/row-store.ts';

type WebhookEvent = 'job.succeeded' | 'job.failed' | 'job.canceled';

export interface WebhookMessage {
  /** `webhook-id`: the same in every attempt. A message that is there already is not added again. */
  messageId: string;
  /** The key whose secret signs it. */
  keyId: string;
  /** Accounts share the sender fairly. */
  accountId: string;
  url: string;
  event: WebhookEvent;
  /** The member `data` of the body. */
  data: object;
  atMs: number;
}

export interface Webhooks {
  /** Fails with `invalid_request` naming `webhook_url` where it may not be called, or where the key has no secret to sign with. */
  check(url: string, keyId: string): Promise<void>;
  /** Adds it through the transaction of the caller. */
  add(rows: Rows, message: WebhookMessage): Promise<void>;
  /** Looks for what is due; to be called after the transaction. */
  wake(): void;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const webhookUrlCharsMax = 2_000;
/** A larger body says only what it is about. */
export const bodyBytesMax = 512 * 1024;
/** From the look-up of the name to the status of the answer. */
export const attemptMs = 15_000;
/** How long another process leaves a delivery to the one that has begun it; longer than an attempt. */
export const leaseMs = minuteMs;

/** When an attempt is made after the one before it; the last wait is repeated. */
export const waitsMs = [5_000, 30_000, 2 * minuteMs, 5 * minuteMs, 15 * minuteMs, 30 * minuteMs, hourMs] as const;
/** Of a wait, at random, so that those who failed together do not return together. */
export const waitSpread = 0.2;
/** The longest that a receiver may ask to wait. */
export const retryAfterMsMax = 4 * hourMs;
/** After the message was added; then comes the last attempt. */
export const retriedMs = 24 * hourMs;
/** How long the end of a delivery can be looked up. */
export const endedKeepMs = 72 * hourMs;

export const attemptsMax = 64;
export const attemptsPerHostMax = 4;
export const attemptsPerAccountMax = 16;
/** How often the table is looked through without being woken. */
export const pollMs = 5_000;

/** How long the former secret signs too. */
export const graceSecondsUsual = 24 * 3600;
