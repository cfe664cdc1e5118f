// Stores the encrypted secrets that sign webhooks. A key and its successors share one secret, which is shown only when
// it is created. During a replacement, both the old and the new secret sign messages.
import { randomBytes } from 'node:crypto';
import { Failure } from '../../platform/errors.ts';
import { type Actor, toAuditRow } from '../keys/caller.ts';
import type { Seal } from '../sign-in/sealed-tokens.ts';
import type { WebhookRows, WebhookSecretRow } from './webhook-rows.ts';
import { secretPrefix } from './webhook-signature.ts';

/** Metadata of a secret, without the secret itself. */
interface WebhookSecret {
  /** First characters of the secret. */
  hint: string;
  createdAtMs: number;
  /** Time until which the former secret also signs. */
  formerUntilMs: number | undefined;
}

/** A new secret, which cannot be retrieved again. */
interface MadeWebhookSecret extends WebhookSecret {
  secret: string;
}

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>;

/** Explains to callers why a secret cannot be decrypted. */
export const whyLost = 'because the secret of the service has changed';

/** A seal must expire, but a secret does not, so the seal lasts 100 years. */
const sealedSeconds = 100 * 365 * 24 * 3600;

export function createWebhookSecrets({
  rows,
  seal,
  now = Date.now,
}: {
  rows: WebhookRows;
  seal: Seal;
  now?: () => number;
}) {
  const open = async (sealed: string | null): Promise<string[]> => {
    const secret = (await seal.open('webhook', sealed ?? undefined))?.secret;
    return typeof secret === 'string' ? [secret] : [];
  };
  const openFormer = ({ formerSealed, formerUntilMs }: WebhookSecretRow) =>
    (formerUntilMs ?? 0) > now() ? open(formerSealed) : [];
  const isLost = async (sealed: string) => (await open(sealed)).length === 0;
  const toSecret = async (row: WebhookSecretRow): Promise<WebhookSecret> => {
    const { hint, createdAtMs, formerUntilMs } = row;
    const [former] = await openFormer(row);
    return { hint, createdAtMs, formerUntilMs: former === undefined ? undefined : formerUntilMs! };
  };

  return {
    async get(keyId: string): Promise<WebhookSecret> {
      const row = await rows.findSecret(keyId);
      if (!row) throw new Failure('not_found', { message: 'This key has no webhook secret. Create one.' });
      if (await isLost(row.sealed)) {
        const message = `The webhook secret of this key can no longer be decrypted, ${whyLost}. Create a new one.`;
        throw new Failure('not_found', { message });
      }
      return toSecret(row);
    },
    /** Replaces the secret; the old secret still signs for `graceSeconds`. */
    async rotate(keyId: string, graceSeconds: number, actor: Actor): Promise<MadeWebhookSecret> {
      const secret = createWebhookSecret();
      const atMs = now();
      const sealed = await seal.close('webhook', { secret }, sealedSeconds);
      const change = { sealed, hint: hintOf(secret), createdAtMs: atMs, formerUntilMs: atMs + graceSeconds * 1000 };
      const detail = { webhookSecret: change.hint, graceSeconds };
      const audit = toAuditRow({ action: 'update', keyId, atMs, detail }, actor);
      const row = await rows.replaceSecret(keyId, change, audit);
      if (!row) throw new Failure('not_found', { message: 'API key not found.' });
      return { secret, ...(await toSecret(row)) };
    },
    /** The current secrets, newest first; empty if the key has none, or if this service can decrypt none of them. */
    async signing(keyId: string): Promise<string[]> {
      const row = await rows.findSecret(keyId);
      return row ? [...(await open(row.sealed)), ...(await openFormer(row))] : [];
    },
    /** Whether the key has a secret that this service cannot decrypt. */
    async isLost(keyId: string): Promise<boolean> {
      const row = await rows.findSecret(keyId);
      return row !== undefined && isLost(row.sealed);
    },
    /** Number of secrets of valid keys, and the number of these secrets that this service cannot decrypt. */
    async count(): Promise<{ all: number; lost: number }> {
      const sealed = await rows.listSealed(now());
      let lost = 0;
      for (const each of sealed) if (await isLost(each)) lost++;
      return { all: sealed.length, lost };
    },
  };
}

const secretBytes = 32;
const hintChars = secretPrefix.length + 6;

const createWebhookSecret = (): string => secretPrefix + randomBytes(secretBytes).toString('base64');

/** First characters of the secret, which are enough to recognize it. */
const hintOf = (secret: string): string => secret.slice(0, hintChars);
