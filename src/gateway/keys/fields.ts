// What the body of a request asks of an API key: members of the right types, turned into the message of the core, which
// checks their values. Null is for a member that goes back to its default.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ApiKeySpecSchema } from '../../../gen/sonant/v1/api_key_pb.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { type Fields, sortFields } from '../http/known-fields.ts';

export interface ParsedKeyFields {
  spec: MessageInitShape<typeof ApiKeySpecSchema>;
  /** The members that were given, by their paths in the message. */
  paths: string[];
  ignored: readonly string[];
}

const known = ['name', 'scopes', 'expires_in_days', 'voice_ids', 'allowed_ips', 'limits'];
const knownLimits = ['requests_per_minute', 'concurrency', 'characters_per_month'];

export function parseKeyFields(given: Fields, isStrict: boolean): ParsedKeyFields {
  const { fields, ignored, faults } = sortFields(given, known, isStrict);
  const { name, scopes, expires_in_days, voice_ids, allowed_ips, limits } = fields;
  const inner = isObject(limits) ? sortFields(limits, knownLimits, isStrict, 'limits.') : undefined;
  if (inner) {
    ignored.push(...inner.ignored);
    faults.push(...inner.faults);
  } else if ((limits ?? undefined) !== undefined) {
    faults.push({ field: 'limits', reason: 'type', message: 'must be an object' });
  }
  const texts = (field: string, value: unknown) => takeTexts(field, value, faults);
  const whole = (field: string, value: unknown) => takeWhole(field, value, faults);
  const { requests_per_minute, concurrency, characters_per_month } = inner?.fields ?? {};
  const days = whole('expires_in_days', expires_in_days);
  const perMinute = whole('limits.requests_per_minute', requests_per_minute);
  const atOnce = whole('limits.concurrency', concurrency);
  const perMonth = whole('limits.characters_per_month', characters_per_month);
  const spec = {
    name: takeName(name, faults),
    scopes: texts('scopes', scopes),
    voiceIds: texts('voice_ids', voice_ids),
    allowedIps: texts('allowed_ips', allowed_ips),
    ...(days !== undefined && { expiresInDays: days }),
    limits: {
      ...(perMinute !== undefined && { requestsPerMinute: perMinute }),
      ...(atOnce !== undefined && { concurrency: atOnce }),
      ...(perMonth !== undefined && { charactersPerMonth: BigInt(perMonth) }),
    },
  };
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  const paths = Object.keys(fields).flatMap((field) => {
    if (field !== 'limits' || !inner) return [field];
    return Object.keys(inner.fields).map((limit) => `limits.${limit}`);
  });
  return { spec, paths, ignored };
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function takeName(value: unknown, faults: FieldViolation[]): string {
  if ((value ?? undefined) === undefined) return '';
  if (typeof value !== 'string') faults.push({ field: 'name', reason: 'type', message: 'must be text' });
  // To the message an empty name is one that is not given.
  else if (value === '') faults.push({ field: 'name', reason: 'length', message: 'must not be empty' });
  else return value;
  return '';
}

function takeTexts(field: string, value: unknown, faults: FieldViolation[]): string[] {
  if ((value ?? undefined) === undefined) return [];
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    faults.push({ field, reason: 'type', message: 'must be a list of texts' });
  else if (value.length === 0)
    faults.push({ field, reason: 'length', message: 'must not be empty; leave it out for the default' });
  else return value;
  return [];
}

function takeWhole(field: string, value: unknown, faults: FieldViolation[]): number | undefined {
  if ((value ?? undefined) === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  faults.push({ field, reason: 'type', message: 'must be a whole number' });
  return undefined;
}
