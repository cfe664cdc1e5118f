// The caller of an operation, and the actor of a change to keys or voices, with the address and the request. Every change
// is recorded with its actor.
import { createId } from '../../platform/runtime/id.ts';
import type { LimitedAccount } from '../limits/limiter.ts';
import { operatorId } from './api-key.ts';
import { type AuditRow, allKeys } from './api-key-rows.ts';
import { type KeyGrant, type KeyLimits, type Scope, scopes } from './key-grant.ts';

/** The permissions that determine which voices a caller may use. */
export interface VoiceUser {
  /** Ids of the only usable voices; undefined if voices are not restricted by id. */
  voiceIds?: readonly string[] | undefined;
  /** Account whose private voices are usable; undefined if there is none. */
  accountId?: string | undefined;
  /** Whether the private voices of all accounts are usable. */
  usesAllVoices?: boolean | undefined;
}

/** The admitted caller, which determines the place in the queue, the account to charge and the usable voices. */
export interface Caller extends VoiceUser {
  callerId: string;
  /**
   * Time after which the caller no longer needs the response, on the clock of `performance.now`. Absent if the caller
   * stated no deadline.
   */
  deadlineMs?: number | undefined;
}

/** A caller without an account is one of its own. */
export const accountOfCaller = ({ accountId, callerId }: Caller): string => accountId ?? callerId;

/** An admitted caller, with its key and permissions. */
export interface KeyCaller extends Caller {
  keyId: string;
  accountId: string;
  /** The caller's name as an actor: "key:key_01JD..." or "user:...". */
  actorName: string;
  scopes: readonly Scope[];
  limits: KeyLimits;
  /** Accounts whose limits also apply to the caller. Default: none. */
  above?: readonly LimitedAccount[];
  /** The keys and permissions that the caller may manage if its scopes include key management. */
  grant: KeyGrant;
}

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

/** Combines a change and its actor into an audit record. */
export const toRecordEntry = <const Change extends { detail: object }>(
  { detail, ...change }: Change,
  { name, address, requestId }: Actor,
) => ({ ...change, actor: name, address, requestId, detail: JSON.stringify(detail) });

export const toAuditRow = (
  change: Pick<AuditRow, 'action' | 'keyId' | 'atMs'> & { detail: object },
  actor: Actor,
): AuditRow => ({ auditId: createId('adt'), ...toRecordEntry(change, actor) });
