// Parses requests for speech from a JSON body or a query. Unknown members are ignored and reported, or rejected if the
// gateway is strict.

import type { Fields, UnknownField } from '../../../contract.ts';
import { parseSpeechRequest, type SpeechRequest, speechFieldRows } from '../../../speech.ts';
import { sortFields } from '../ignored-fields.ts';

export interface ParsedSpeech {
  request: SpeechRequest;
  /** The unknown members, which are ignored. */
  ignored: UnknownField[];
}

interface FieldRules {
  /** Whether unknown members are rejected. */
  isStrict: boolean;
  /** Whether the response is a stream of events. */
  isEvents: boolean;
}

const eventFields = speechFieldRows.map(({ json }) => json);
const speechFields = speechFieldRows.filter(({ isForEvents }) => !isForEvents).map(({ json }) => json);
const booleans = speechFieldRows.filter(({ schema }) => schema.type === 'boolean').map(({ json }) => json);
const lists = ['text_chunks', 'lexicon_ids'];
const numbers = speechFieldRows
  .filter(({ schema }) => schema.type === 'number' || schema.type === 'integer')
  .map(({ json }) => json);

/** Parses the body of POST /api/audio/speech. */
export function parseSpeechFields(given: Fields, { isStrict, isEvents }: FieldRules): ParsedSpeech {
  const { fields, ignored, faults } = sortFields(given, isEvents ? eventFields : speechFields, isStrict);
  return { request: parseSpeechRequest(fields, { violations: faults }), ignored };
}

/** Parses the body or query of an event stream. `text` counts as a single chunk. */
export function parseEventFields(given: Fields, isStrict: boolean): ParsedSpeech {
  const { fields, ignored, faults: violations } = sortFields(given, eventFields, isStrict);
  const { method } = fields;
  if (method !== 'streaming' && (method ?? undefined) !== undefined)
    violations.push({
      field: 'method',
      reason: 'enum',
      message: 'must be streaming or omitted',
      allowed: ['streaming'],
    });
  const options = { violations, allowsSingleText: true };
  return { request: parseSpeechRequest({ ...fields, method: 'streaming' }, options), ignored };
}

/** Converts a query to the members of a body: numbers and booleans are parsed, and list fields become lists. */
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
