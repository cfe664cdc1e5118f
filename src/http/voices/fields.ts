// Parses the fields of a voice: from JSON for a voice of engines, from a form for a clone. Only types are checked here; the
// operations check the values, and report all faults together.
import type { BlendPart } from '../../engines/engine.ts';
import { Failure, type FieldReason, type FieldViolation } from '../../errors.ts';
import { parseStrictJson } from '../../net/strict-json.ts';
import type { CloneFields, VoiceFields } from '../../voices/voice-fields.ts';
import { type Fields, isObject, sortFields, type UnknownField } from '../known-fields.ts';
import type { FormBody } from './form-body.ts';

export interface ParsedVoiceFields {
  voiceId: string | undefined;
  fields: VoiceFields;
  ignored: readonly UnknownField[];
}

/** The members of the objects in a list. */
const innerFields = { bindings: ['engine', 'voice_id'], blend: ['voice_id', 'weight'] } as const;
const specFields = [
  'name',
  'description',
  'language_codes',
  'labels',
  'bindings',
  'blend',
  'enabled',
  'access',
  'aliases',
  'lexicon_ids',
];

/** `voice_id` is for a new voice only; of an existing one it is in the path. */
export function parseVoiceFields(body: Fields, isNew: boolean, isStrict: boolean): ParsedVoiceFields {
  const names = isNew ? ['voice_id', ...specFields] : specFields;
  const { fields, ignored, faults } = sortFields(body, names, isStrict);
  const take = <T>(field: string, what: string, read: (value: unknown) => T | undefined): T | undefined => {
    const value = fields[field] ?? undefined;
    const taken = value === undefined ? undefined : read(value);
    if (value !== undefined && taken === undefined) faults.push({ field, reason: 'type', message: `must be ${what}` });
    return taken;
  };
  const voiceId = take('voice_id', 'text', toText);
  const name = take('name', 'text', toText);
  const description = take('description', 'text', toText);
  const languageCodes = take('language_codes', 'a list of texts', toTexts);
  const labels = take('labels', 'an object of texts', toLabels);
  const bindings = take('bindings', 'a list of {"engine", "voice_id"}', toBindings);
  const blend = take('blend', 'a list of {"voice_id", "weight"}', toBlend);
  const enabled = take('enabled', 'true or false', (value) => (typeof value === 'boolean' ? value : undefined));
  const access = take('access', 'text', toText);
  const aliases = take('aliases', 'a list of texts', toTexts);
  const lexiconIds = take('lexicon_ids', 'a list of texts', toTexts);
  for (const [field, known] of Object.entries(innerFields)) {
    const items: unknown[] = Array.isArray(fields[field]) ? fields[field] : [];
    for (const [i, item] of items.entries()) {
      if (!isObject(item)) continue;
      const inner = sortFields(item, known, isStrict, `${field}[${i}].`);
      ignored.push(...inner.ignored);
      faults.push(...inner.faults);
    }
  }
  if (voiceId === '') faults.push({ field: 'voice_id', reason: 'length', message: 'must not be empty' });
  const given = {
    ...(faults.length > 0 && { violations: faults }),
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(languageCodes && { languageCodes }),
    ...(labels && { labels }),
    ...(bindings && { bindings }),
    ...(blend && { blend }),
    ...(enabled !== undefined && { enabled }),
    ...(access !== undefined && { access }),
    ...(aliases && { aliases }),
    ...(lexiconIds && { lexiconIds }),
  };
  return { voiceId: voiceId || undefined, fields: given, ignored };
}

const toText = (value: unknown) => (typeof value === 'string' ? value : undefined);
const toTexts = (value: unknown): string[] | undefined =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
const toLabels = (value: unknown) =>
  isObject(value) && Object.values(value).every((label) => typeof label === 'string')
    ? (value as Record<string, string>)
    : undefined;

function toBindings(value: unknown): { engine: string; voiceId: string }[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const bindings = value.map((item) => {
    const { engine, voice_id: voiceId } = isObject(item) ? item : {};
    const isValid = typeof engine === 'string' && ['string', 'undefined'].includes(typeof (voiceId ?? undefined));
    return isValid ? { engine, voiceId: (voiceId as string | null | undefined) ?? '' } : undefined;
  });
  return bindings.includes(undefined) ? undefined : (bindings as { engine: string; voiceId: string }[]);
}

/** Null takes the choice back; it must be given, so that a mistake in the name of the field does not. */
export function parseDefaultVoice(body: Fields, isStrict: boolean) {
  const { fields, ignored, faults } = sortFields(body, ['voice_id'], isStrict);
  const { voice_id: given } = fields;
  const fault = (reason: FieldReason, message: string) => faults.push({ field: 'voice_id', reason, message });
  if (given === undefined) fault('required', 'name the voice, or give null for none');
  else if (given === '') fault('length', 'must not be empty');
  else if (given !== null && typeof given !== 'string') fault('type', 'must be text or null');
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return { voiceId: (given as string | null) ?? undefined, ignored };
}

function toBlend(value: unknown): BlendPart[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const parts = value.map((item) => {
    const { voice_id: voiceId, weight } = isObject(item) ? item : {};
    return typeof voiceId === 'string' && typeof weight === 'number' ? { voiceId, weight } : undefined;
  });
  return parts.includes(undefined) ? undefined : (parts as BlendPart[]);
}

export const cloneFiles = ['reference_audio', 'consent_audio'];
export const cloneTexts = [
  'voice_id',
  'name',
  'description',
  'labels',
  'language_code',
  'reference_text',
  'speaker_name',
  'consent_script',
  'engines',
  'access',
];

export interface ParsedCloneForm {
  fields: CloneFields;
  ignored: readonly UnknownField[];
}

export function parseCloneForm({ texts, files }: FormBody, isStrict: boolean): ParsedCloneForm {
  const { fields, ignored, faults } = sortFields(Object.fromEntries(texts), cloneTexts, isStrict);
  const take = (field: string): string => {
    const given = (fields[field] ?? []) as readonly string[];
    if (given.length > 1) faults.push({ field, reason: 'conflict', message: 'must be given once' });
    return given[0] ?? '';
  };
  const engines = ((fields.engines ?? []) as readonly string[]).flatMap((text) =>
    text.split(',').flatMap((name) => name.trim() || []),
  );
  const clone = {
    voiceId: take('voice_id') || undefined,
    name: take('name'),
    description: take('description'),
    languageCode: take('language_code'),
    referenceText: take('reference_text'),
    speakerName: take('speaker_name'),
    consentScript: take('consent_script'),
    engines,
    access: take('access') || undefined,
    labels: parseLabels(take('labels'), faults),
    reference: files.get('reference_audio') ?? new Uint8Array(),
    consent: files.get('consent_audio') ?? new Uint8Array(),
  };
  return { fields: { ...clone, violations: faults }, ignored };
}

/** JSON, since the fields of a form are strings. */
function parseLabels(text: string, faults: FieldViolation[]): Record<string, string> {
  if (text.trim() === '') return {};
  try {
    const labels = toLabels(parseStrictJson(Buffer.from(text)));
    if (labels) return labels;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  faults.push({ field: 'labels', reason: 'type', message: 'must be a JSON object of texts' });
  return {};
}
