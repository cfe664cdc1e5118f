// The table `webhook_messages` has the messages to deliver and their delivery outcomes. The table `webhook_secrets` has
// the sealed signing secret of each key owner. A process claims a message for a limited time. If the process dies,
// another process claims the message.

import { createColumns, type RowStore, type Rows, toNames } from '../../platform/store/row-store.ts';
import { type AuditRow, addAudit } from '../keys/api-key-rows.ts';

export const webhookOutcomes = ['delivered', 'gone', 'given up', 'unsigned'] as const;
export type WebhookOutcome = (typeof webhookOutcomes)[number];

export interface WebhookMessageRow {
  messageId: string;
  keyId: string;
  accountId: string;
  host: string;
  url: string;
  body: string;
  createdAtMs: number;
  /** Time of the next attempt. */
  dueAtMs: number;
  attempts: number;
  heldUntilMs: number | null;
  endedAtMs: number | null;
  outcome: WebhookOutcome | null;
  /** Status of the last response, or the reason why there was no response. */
  lastResult: string | null;
}

export interface WebhookSecretRow {
  ownerId: string;
  sealed: string;
  hint: string;
  createdAtMs: number;
  /** The previous secret, which also signs messages until `formerUntilMs`. */
  formerSealed: string | null;
  formerUntilMs: number | null;
}

interface WebhookSecretChange extends Pick<WebhookSecretRow, 'sealed' | 'hint' | 'createdAtMs'> {
  formerUntilMs: number;
}

/** The columns that are needed to choose the next message. */
export type DueMessage = Pick<WebhookMessageRow, 'messageId' | 'accountId' | 'host' | 'dueAtMs'>;

interface DueLimits {
  perHost: number;
  perAccount: number;
  limit: number;
}

const messages = createColumns<WebhookMessageRow>('webhook_messages', [
  ...toNames('messageId keyId accountId host url body createdAtMs dueAtMs attempts heldUntilMs endedAtMs outcome'),
  ...toNames('lastResult'),
]);
const secrets = createColumns<WebhookSecretRow>(
  'webhook_secrets',
  toNames('ownerId sealed hint createdAtMs formerSealed formerUntilMs'),
);

/** Adds the message in the caller's transaction. An existing message is left unchanged. */
export async function addWebhookMessage(rows: Rows, row: WebhookMessageRow): Promise<void> {
  await rows.query(`${messages.insert} on conflict (message_id) do nothing`, ...messages.valuesOf(row));
}

const isFree = 'ended_at_ms is null and due_at_ms <= $1 and (held_until_ms is null or held_until_ms <= $1)';
const isInForce = 'revoked_at_ms is null and (expires_at_ms is null or expires_at_ms > $1)';
const ownerOf = '(select owner_id from api_keys where key_id = $1)';

export type WebhookRows = ReturnType<typeof createWebhookRows>;

export const createWebhookRows = (store: RowStore) => ({
  now: () => store.now(),
  /** Lists unclaimed due messages, limited per host and account. Accounts take turns in the order of the list. */
  listDue(nowMs: number, { perHost, perAccount, limit }: DueLimits): Promise<DueMessage[]> {
    const ofHosts = `select message_id, account_id, host, due_at_ms,
      row_number() over (partition by host order by due_at_ms, message_id) as place
      from webhook_messages where ${isFree}`;
    const ofAccounts = `select message_id, account_id, host, due_at_ms,
      row_number() over (partition by account_id order by place, due_at_ms, message_id) as share
      from (${ofHosts}) of_hosts where place <= $2`;
    const sql = `select message_id as "messageId", account_id as "accountId", host, due_at_ms as "dueAtMs"
      from (${ofAccounts}) of_accounts where share <= $3 order by share, due_at_ms, message_id limit $4`;
    return store.query(sql, nowMs, perHost, perAccount, limit);
  },
  /** Counts an attempt and claims the message. Returns undefined if another process was first. */
  async claim(messageId: string, nowMs: number, untilMs: number): Promise<WebhookMessageRow | undefined> {
    const sql = `update webhook_messages set held_until_ms = $3, attempts = attempts + 1
      where message_id = $2 and ${isFree} returning ${messages.returned}`;
    return (await store.query<WebhookMessageRow>(sql, nowMs, messageId, untilMs))[0];
  },
  /** Schedules the next attempt. */
  async postpone(messageId: string, dueAtMs: number, lastResult: string): Promise<void> {
    const sql = `update webhook_messages set held_until_ms = null, due_at_ms = $2, last_result = $3
      where message_id = $1 and ended_at_ms is null`;
    await store.query(sql, messageId, dueAtMs, lastResult);
  },
  /** Releases a message whose attempt was not completed. */
  async release(messageId: string): Promise<void> {
    const sql = `update webhook_messages set held_until_ms = null, attempts = attempts - 1
      where message_id = $1 and ended_at_ms is null`;
    await store.query(sql, messageId);
  },
  /** Ends the delivery. Stores the outcome and deletes the body of the message. */
  async end(messageId: string, outcome: WebhookOutcome, lastResult: string, nowMs: number): Promise<void> {
    const sql = `update webhook_messages set ended_at_ms = $2, outcome = $3, last_result = $4, held_until_ms = null,
      body = '' where message_id = $1 and ended_at_ms is null`;
    await store.query(sql, messageId, nowMs, outcome, lastResult);
  },
  async find(messageId: string): Promise<WebhookMessageRow | undefined> {
    return (await store.query<WebhookMessageRow>(`${messages.select} where message_id = $1`, messageId))[0];
  },
  async deleteEnded(beforeMs: number): Promise<void> {
    await store.query('delete from webhook_messages where ended_at_ms < $1', beforeMs);
  },
  /** Finds the secret of the key's owner. Rotations of the key do not change the secret. */
  async findSecret(keyId: string): Promise<WebhookSecretRow | undefined> {
    return (await store.query<WebhookSecretRow>(`${secrets.select} where owner_id = ${ownerOf}`, keyId))[0];
  },
  /** Lists the sealed secrets of owners that have a valid key. */
  async listSealed(nowMs: number): Promise<string[]> {
    const sql = `select sealed from webhook_secrets where owner_id in (select owner_id from api_keys where ${isInForce})`;
    return (await store.query<{ sealed: string }>(sql, nowMs)).map(({ sealed }) => sealed);
  },
  /**
   * Replaces the secret of the key's owner. The previous secret signs until `formerUntilMs`. Returns undefined if there
   * is no such key.
   */
  replaceSecret: (
    keyId: string,
    { sealed, hint, createdAtMs, formerUntilMs }: WebhookSecretChange,
    audit: AuditRow,
  ): Promise<WebhookSecretRow | undefined> =>
    store.transaction(async (rows) => {
      const sql = `insert into webhook_secrets (owner_id, sealed, hint, created_at_ms)
        select owner_id, $2, $3, cast($4 as bigint) from api_keys where key_id = $1
        on conflict (owner_id) do update set sealed = excluded.sealed, hint = excluded.hint,
          created_at_ms = excluded.created_at_ms, former_sealed = webhook_secrets.sealed, former_until_ms = $5
        returning ${secrets.returned}`;
      const values = [keyId, sealed, hint, createdAtMs, formerUntilMs];
      const [row] = await rows.query<WebhookSecretRow>(sql, ...values);
      if (row) await addAudit(rows, audit);
      return row;
    }),
});
