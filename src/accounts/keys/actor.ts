// The actor of a change to keys or voices, with the address and the request. Every change is recorded with its actor.

import { createId } from '../../platform/runtime/id.ts';
import { operatorId } from './api-key-record.ts';
import { type AuditRow, allKeys } from './api-key-rows.ts';
import type { VoiceUser } from './caller.ts';
import type { KeyGrant } from './key-grant.ts';
import type { KeyCaller } from './key-verifier.ts';
import { scopes } from './scopes.ts';

export interface Actor extends VoiceUser {
  /** The name in audit records: "key:key_01JD...", "user:...", "client:..." or "operator". */
  name: string;
  address: string;
  requestId: string;
  /** The account of the actor. The change uses this account's share of the engines. */
  accountId: string;
  grant: KeyGrant;
}

/** The operator at the machine's own command line, who may do everything. */
export const operator: Actor = {
  name: 'operator',
  address: '',
  requestId: '',
  accountId: operatorId,
  grant: { range: allKeys, scopes },
  usesAllVoices: true,
};

/** Converts the caller of a request to the actor of a change. */
export const toActor = (
  { actorName, accountId, grant, voiceIds, usesAllVoices }: KeyCaller,
  { address, requestId }: { address: string; requestId: string },
): Actor => ({ name: actorName, address, requestId, accountId, grant, voiceIds, usesAllVoices });

/** Combines a change and its actor into an audit record. */
export const toRecordEntry = <const Change extends { detail: object }>(
  { detail, ...change }: Change,
  { name, address, requestId }: Actor,
) => ({ ...change, actor: name, address, requestId, detail: JSON.stringify(detail) });

export const toAuditRow = (
  change: Pick<AuditRow, 'action' | 'keyId' | 'atMs'> & { detail: object },
  actor: Actor,
): AuditRow => ({ auditId: createId('adt'), ...toRecordEntry(change, actor) });
