// The table `audit`: changes of API keys, with actor, address and request id. Rows are only added, each in the
// transaction of the change that it records, so no change is without a record. Rows contain no secrets.
import { createColumns } from './columns.ts';
import type { Rows } from './row-store.ts';

export interface AuditRow {
  auditId: string;
  atMs: number;
  /** Such as "key:key_01JD...", "user:...", "cli". */
  actor: string;
  action: 'create' | 'update' | 'rotate' | 'revoke';
  keyId: string;
  address: string;
  requestId: string;
  /** The changed fields, as JSON. */
  detail: string;
}

const columns = createColumns<AuditRow>('audit', [
  'auditId',
  'atMs',
  'actor',
  'action',
  'keyId',
  'address',
  'requestId',
  'detail',
]);

export async function addAudit(rows: Rows, row: AuditRow): Promise<void> {
  await rows.query(columns.insert, ...columns.valuesOf(row));
}

/** The changes of a key, oldest first. */
export const listAudit = (rows: Rows, keyId: string): Promise<AuditRow[]> =>
  rows.query(`${columns.select} where key_id = $1 order by at_ms, audit_id`, keyId);
