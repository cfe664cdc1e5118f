// Parses requests for speech from a JSON body or a query. Unknown members are ignored and reported, or rejected if the
// gateway is strict.

import type { Fields, UnknownField } from '../../contract/unknown-fields.ts';
import { speechFieldRows } from '../../speech/fields.ts';
import { parseSpeechRequest, type SpeechRequest } from '../../speech/request.ts';
import { sortFields } from '../known-fields.ts';

export interface ParsedSpeech {
  request: SpeechRequest;
  /** The members that were ignored. */
  ignored: UnknownField[];
}

export interface FieldRules {
  /** Reject unknown members. */
  isStrict: boolean;
  /** Whether the answer is a stream of events. */
  isEvents: boolean;
}

const eventFields = speechFieldRows.map(({ json }) => json);
const speechFields = speechFieldRows.filter(({ isForEvents }) => !isForEvents).map(({ json }) => json);
const booleans = speechFieldRows.filter(({ schema }) => schema.type === 'boolean').map(({ json }) => json);
const lists = ['text_chunks', 'lexicon_ids'];
const numbers = speechFieldRows
  .filter(({ schema }) => schema.type === 'number' || schema.type === 'integer')
  .map(({ json }) => json);

/** The request in the body of POST /api/audio/speech. */
export function parseSpeechFields(given: Fields, { isStrict, isEvents }: FieldRules): ParsedSpeech {
  const { fields, ignored, faults } = sortFields(given, isEvents ? eventFields : speechFields, isStrict);
  return { request: parseSpeechRequest(fields, { violations: faults }), ignored };
}

/** The request for a stream of events in a body or query: `text` counts as a single chunk. */
export function parseEventFields(given: Fields, isStrict: boolean): ParsedSpeech {
  const { fields, ignored, faults: violations } = sortFields(given, eventFields, isStrict);
  const { method } = fields;
  if (method !== 'streaming' && (method ?? undefined) !== undefined)
    violations.push({
      field: 'method',
      reason: 'enum',
      message: 'must be streaming, or left out',
      allowed: ['streaming'],
    });
  const options = { violations, allowsSingleText: true };
  return { request: parseSpeechRequest({ ...fields, method: 'streaming' }, options), ignored };
}

/** A query as the members of a body: numbers are numbers, truth values likewise, and the texts a list however many there are. */
export function fromQuery(query: Readonly<Record<string, unknown>>): Fields {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      if (lists.includes(name)) return [name, Array.isArray(value) ? value : [value]];
      if (booleans.includes(name) && (value === 'true' || value === 'false')) return [name, value === 'true'];
      const isNumber = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
      return [name, isNumber && numbers.includes(name) ? Number(value) : value];
    }),
  );
}
