// Signs a webhook according to Standard Webhooks: HMAC-SHA256 over id, time and body, once per secret.
import { createHmac } from 'node:crypto';

export const secretPrefix = 'whsec_';

export function signedHeaders(
  { messageId, body, atMs }: { messageId: string; body: string; atMs: number },
  secrets: readonly string[],
) {
  const timestamp = String(Math.floor(atMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': messageId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
