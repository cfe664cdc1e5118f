// Who wants something of a key, and the record that is kept of what was done.
import { createId } from '../id.ts';
import type { AuditRow } from '../store/audit-rows.ts';
import { type KeyGrant, operatorGrant } from './key-grant.ts';

/** Who asks, from where, under which request. */
export interface KeyActor {
  grant: KeyGrant;
  address: string;
  requestId: string;
}

/** What is done on the machine itself. */
export const operator: KeyActor = { grant: operatorGrant, address: '', requestId: '' };

type Done = Pick<AuditRow, 'action' | 'keyId' | 'atMs'> & { detail: object };

export const toAuditRow = ({ detail, ...done }: Done, { grant, address, requestId }: KeyActor): AuditRow => ({
  ...{ auditId: createId('adt'), actor: grant.actor, address, requestId },
  ...done,
  detail: JSON.stringify(detail),
});
