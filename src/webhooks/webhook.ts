// The contract of webhooks: what tells the receiver that something has happened, by Standard Webhooks
// (https://www.standardwebhooks.com). A message is a row, added in the transaction of what it tells of, so that neither is
// without the other; a worker delivers it at least once.
import type { Rows } from '../store/row-store.ts';

export type WebhookEvent = 'job.succeeded' | 'job.failed' | 'job.canceled';

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
