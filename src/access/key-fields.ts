// The fields of a request that creates or updates a key, and the checks that need nothing else.
import type { FieldReason, FieldViolation } from '../errors.ts';
import { isAddressBlock } from '../net/addresses.ts';
import { voiceIdCharsMax } from '../speech/fields.ts';
import { countChars } from '../text/count-chars.ts';
import type { LimitFields } from './key-limits.ts';
import { isScope, scopes } from './scopes.ts';

/** An omitted field has its default in a new key and keeps its value in an update. Null: no restriction. */
export interface KeyFields {
  /** 1 to 100 characters. Default "unnamed". */
  name?: string | undefined;
  /** Default: `defaultScopes`, as far as the actor has them. */
  scopes?: readonly string[] | undefined;
  /** 1 to 3650. Default: never. */
  expiresInDays?: number | null | undefined;
  /** Default: all voices. */
  voiceIds?: readonly string[] | null | undefined;
  /** Addresses and CIDR blocks. Default: any. */
  allowedIps?: readonly string[] | null | undefined;
  limits?: LimitFields | undefined;
  /** Found by the API that read the fields, and reported with the others. */
  violations?: readonly FieldViolation[] | undefined;
}

const nameCharsMax = 100;
const daysMax = 3650;
export const voiceIdsMax = 100;
const addressesMax = 100;

/** Every fault of the fields but those of limits, which are checked against the grant. */
export function faultsOfFields({
  name = '-',
  scopes: requestedScopes,
  expiresInDays,
  voiceIds,
  allowedIps,
  violations = [],
}: KeyFields): FieldViolation[] {
  const details = [...violations];
  const fault = (field: string, reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) =>
    details.push({ field, reason, message, ...(allowed && { allowed }) });
  const chars = countChars(name);
  if (chars < 1 || chars > nameCharsMax) fault('name', 'length', `must be 1 to ${nameCharsMax} characters`);
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) fault('name', 'encoding', 'must hold no control characters');
  if (requestedScopes?.length === 0) fault('scopes', 'required', 'give at least one scope');
  for (const [i, scope] of (requestedScopes ?? []).entries()) {
    if (!isScope(scope)) fault(`scopes[${i}]`, 'enum', `must be one of ${scopes.join(', ')}`, scopes);
  }
  const days = expiresInDays ?? 1;
  if (!(Number.isInteger(days) && days >= 1 && days <= daysMax))
    fault('expires_in_days', 'range', `must be a whole number from 1 to ${daysMax}`);
  if (voiceIds && (voiceIds.length < 1 || voiceIds.length > voiceIdsMax))
    fault('voice_ids', 'length', `give 1 to ${voiceIdsMax} voices, or null for all`);
  for (const [i, id] of (voiceIds ?? []).slice(0, voiceIdsMax).entries()) {
    const length = countChars(id);
    if (length < 1 || length > voiceIdCharsMax)
      fault(`voice_ids[${i}]`, 'length', `must be 1 to ${voiceIdCharsMax} characters`);
  }
  if (allowedIps && (allowedIps.length < 1 || allowedIps.length > addressesMax))
    fault('allowed_ips', 'length', `give 1 to ${addressesMax} addresses, or null for any`);
  for (const [i, block] of (allowedIps ?? []).slice(0, addressesMax).entries()) {
    if (!isAddressBlock(block))
      fault(`allowed_ips[${i}]`, 'format', 'must be an IP address or a CIDR block such as 10.0.0.0/8');
  }
  return details;
}
