// The secrets that sign webhooks, one for each key and its successors: shown once, when they are made, and sealed in the
// database. While a secret replaces another, both sign.
import { Failure } from '../errors.ts';
import type { Seal } from '../secrets/seal.ts';
import type { AuditRow } from '../store/audit-rows.ts';
import type { WebhookRows, WebhookSecretRow } from '../store/webhook-rows.ts';
import { graceSecondsMax } from './limits.ts';
import { createWebhookSecret, hintOf } from './signature.ts';

/** Without the secret itself. */
export interface WebhookSecret {
  /** The first characters. */
  hint: string;
  createdAtMs: number;
  /** Until when the former secret signs too. */
  formerUntilMs: number | undefined;
}

/** A new secret, which cannot be read again. */
export interface MadeWebhookSecret extends WebhookSecret {
  secret: string;
}

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>;

/** A seal has an end; a secret has none. */
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
  const toSecret = ({ hint, createdAtMs, formerUntilMs }: WebhookSecretRow): WebhookSecret => ({
    hint,
    createdAtMs,
    formerUntilMs: formerUntilMs !== null && formerUntilMs > now() ? formerUntilMs : undefined,
  });
  const open = async (sealed: string | null): Promise<string[]> => {
    const secret = (await seal.open('webhook', sealed ?? undefined))?.secret;
    return typeof secret === 'string' ? [secret] : [];
  };

  return {
    async get(keyId: string): Promise<WebhookSecret> {
      const row = await rows.findSecret(keyId);
      if (!row) throw new Failure('not_found', { message: 'This key has no webhook secret yet; make one.' });
      return toSecret(row);
    },
    /** The former one signs for so many seconds more. `audit` is the record of the change. */
    async rotate(
      keyId: string,
      graceSeconds: number,
      audit: (change: Pick<AuditRow, 'action' | 'keyId' | 'atMs'> & { detail: object }) => AuditRow,
    ): Promise<MadeWebhookSecret> {
      checkGrace(graceSeconds);
      const secret = createWebhookSecret();
      const atMs = now();
      const sealed = await seal.close('webhook', { secret }, sealedSeconds);
      const change = { sealed, hint: hintOf(secret), createdAtMs: atMs, formerUntilMs: atMs + graceSeconds * 1000 };
      const detail = { webhookSecret: change.hint, graceSeconds };
      const row = await rows.replaceSecret(keyId, change, audit({ action: 'update', keyId, atMs, detail }));
      if (!row) throw new Failure('not_found', { message: 'There is no such API key.' });
      return { secret, ...toSecret(row) };
    },
    /** Those that sign at present, the newest first; none where the key has none, or none that this service can open. */
    async signing(keyId: string): Promise<string[]> {
      const row = await rows.findSecret(keyId);
      if (!row) return [];
      const isGrace = (row.formerUntilMs ?? 0) > now();
      return [...(await open(row.sealed)), ...(isGrace ? await open(row.formerSealed) : [])];
    },
  };
}

function checkGrace(graceSeconds: number): void {
  if (Number.isInteger(graceSeconds) && graceSeconds >= 0 && graceSeconds <= graceSecondsMax) return;
  const message = `must be a whole number from 0 to ${graceSecondsMax}`;
  throw new Failure('invalid_request', { details: [{ field: 'grace_seconds', reason: 'range', message }] });
}
