// Parses the fields of an API key from a JSON body. Only types are checked here; the operations check the values, and report
// all faults together. Unknown members are faults, so that a misspelt one does not leave a key without its limits. Null is
// the default.
import type { FastifyRequest } from 'fastify';
import type { KeyFields } from '../../access/key-fields.ts';
import { defaultScopes } from '../../access/scopes.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { fieldsOf } from '../json-body.ts';
import { type Fields, isObject, sortFields } from '../known-fields.ts';

const known = ['name', 'scopes', 'expires_in_days', 'voice_ids', 'allowed_ips', 'limits'];
const limitNames = {
  requests_per_minute: 'requestsPerMinute',
  concurrency: 'concurrency',
  characters_per_month: 'charactersPerMonth',
} as const;

/** An absent member stays unchanged, or has its default in a new key; null is the default. */
export function parseKeyFields(given: Fields): KeyFields {
  const { fields: members, faults } = sortFields(given, known, true);
  const fields: KeyFields = {};
  const has = (name: string) => Object.hasOwn(members, name);
  if (has('name')) fields.name = takeName(members.name, faults) ?? 'unnamed';
  if (has('scopes')) fields.scopes = takeTexts('scopes', members.scopes, faults) ?? defaultScopes;
  if (has('expires_in_days'))
    fields.expiresInDays = takeWhole('expires_in_days', members.expires_in_days, faults) ?? null;
  if (has('voice_ids')) fields.voiceIds = takeTexts('voice_ids', members.voice_ids, faults) ?? null;
  if (has('allowed_ips')) fields.allowedIps = takeTexts('allowed_ips', members.allowed_ips, faults) ?? null;
  if (has('limits')) {
    const inner = isObject(members.limits)
      ? sortFields(members.limits, Object.keys(limitNames), true, 'limits.')
      : undefined;
    if (!inner && members.limits !== null)
      faults.push({ field: 'limits', reason: 'type', message: 'must be an object' });
    faults.push(...(inner?.faults ?? []));
    fields.limits = {};
    for (const [name, limit] of Object.entries(limitNames)) {
      if (inner && !Object.hasOwn(inner.fields, name)) continue;
      fields.limits[limit] = takeWhole(`limits.${name}`, inner?.fields[name], faults) ?? null;
    }
  }
  return { ...fields, violations: faults };
}

function takeName(value: unknown, faults: FieldViolation[]): string | undefined {
  if ((value ?? undefined) === undefined) return undefined;
  if (typeof value !== 'string') faults.push({ field: 'name', reason: 'type', message: 'must be text' });
  else if (value === '') faults.push({ field: 'name', reason: 'length', message: 'must not be empty' });
  else return value;
  return undefined;
}

function takeTexts(field: string, value: unknown, faults: FieldViolation[]): string[] | undefined {
  if ((value ?? undefined) === undefined) return undefined;
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    faults.push({ field, reason: 'type', message: 'must be a list of texts' });
  else if (value.length === 0)
    faults.push({ field, reason: 'length', message: 'must not be empty; leave it out for the default' });
  else return value;
  return undefined;
}

function takeWhole(field: string, value: unknown, faults: FieldViolation[]): number | undefined {
  if ((value ?? undefined) === undefined) return undefined;
  if (Number.isInteger(value)) return value as number;
  faults.push({ field, reason: 'type', message: 'must be a whole number' });
  return undefined;
}

/** Of a request to replace a secret. */
export function parseGrace(request: FastifyRequest): number | undefined {
  const given = request.body === undefined ? {} : fieldsOf(request);
  const { fields, faults } = sortFields(given, ['grace_seconds'], true);
  const graceSeconds = fields.grace_seconds ?? undefined;
  if (graceSeconds !== undefined && typeof graceSeconds !== 'number')
    faults.push({ field: 'grace_seconds', reason: 'type', message: 'must be a whole number' });
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return graceSeconds as number | undefined;
}
