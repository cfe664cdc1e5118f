// The table `audit`: who has changed what of whose key, from where, under which request. Rows are only ever added, each in
// the transaction of the change that it tells of, so that there is no change without its record. No secret is in it.
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
  /** What was changed, as JSON. */
  detail: string;
}

const columns = createColumns<AuditRow>([
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
  await rows.query(`insert into audit (${columns.names}) values (${columns.places})`, ...columns.valuesOf(row));
}

/** What was done to a key, the oldest first. */
export const listAudit = (rows: Rows, keyId: string): Promise<AuditRow[]> =>
  rows.query(`select ${columns.selected} from audit where key_id = $1 order by at_ms, audit_id`, keyId);
