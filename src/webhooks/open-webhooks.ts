// Webhooks of a service: what is accepted as a target, the messages and the sender.
import { Failure } from '../errors.ts';
import { addWebhookMessage } from '../store/webhook-rows.ts';
import { bodyBytesMax } from './limits.ts';
import type { WebhookMessage, Webhooks } from './webhook.ts';
import { whyLost } from './webhook-secrets.ts';
import { openWebhookSender, type SenderOptions } from './webhook-sender.ts';

export interface OpenedWebhooks extends Webhooks {
  /** Waits until nothing is under way that is due. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export function openWebhooks(options: SenderOptions): OpenedWebhooks {
  const { secrets, targets } = options;
  const sender = openWebhookSender(options);
  return {
    async check(url, keyId) {
      const fault = targets.faultOf(url);
      if (fault !== undefined) throw refusal(fault);
      if ((await secrets.signing(keyId)).length > 0) return;
      const lost = (await secrets.isLost(keyId)) ? `, and that of the key can no longer be read, ${whyLost}` : '';
      throw refusal(`needs a secret to sign with${lost}: make one with POST /api/auth/webhook-secret`);
    },
    add: (rows, message) =>
      addWebhookMessage(rows, {
        messageId: message.messageId,
        keyId: message.keyId,
        accountId: message.accountId,
        host: new URL(message.url).host,
        url: message.url,
        body: bodyOf(message),
        createdAtMs: message.atMs,
        dueAtMs: message.atMs,
        attempts: 0,
        heldUntilMs: null,
        endedAtMs: null,
        outcome: null,
        lastResult: null,
      }),
    wake: sender.wake,
    settle: sender.settle,
    close: sender.close,
  };
}

const refusal = (message: string) =>
  new Failure('invalid_request', { details: [{ field: 'webhook_url', reason: 'url', message }] });

function bodyOf({ event, atMs, data }: WebhookMessage): string {
  const timestamp = new Date(atMs).toISOString();
  const body = JSON.stringify({ type: event, timestamp, data });
  if (Buffer.byteLength(body) <= bodyBytesMax) return body;
  const { id } = data as { id?: unknown };
  return JSON.stringify({ type: event, timestamp, data: { id } });
}
