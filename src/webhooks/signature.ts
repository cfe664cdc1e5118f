// Signs by Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over "id.timestamp.body", once with each secret.
//     whsec_ base64 of 32 random bytes                        v1,base64 v1,base64
import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;
const hintChars = prefix.length + 6;

export const createWebhookSecret = (): string => prefix + randomBytes(secretBytes).toString('base64');

/** Enough to recognize a secret. */
export const hintOf = (secret: string): string => secret.slice(0, hintChars);

export interface SignedHeaders extends Record<string, string> {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

export function signedHeaders(
  { messageId, body, atMs }: { messageId: string; body: string; atMs: number },
  secrets: readonly string[],
): SignedHeaders {
  const timestamp = String(Math.floor(atMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': messageId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
