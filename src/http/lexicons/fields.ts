// Parses the fields of a lexicon, from JSON, or from a PLS document with the other fields in the query. Only the types of the
// fields are checked here; the rest is checked where they are kept, and all faults are reported together.
import type { FastifyRequest } from 'fastify';
import type { LexiconFields } from '../../lexicons/lexicon-fields.ts';
import { fieldsOf } from '../json-body.ts';
import { sortFields, sortQuery, type UnknownField } from '../known-fields.ts';
import { PlsBody } from './lexicon-body.ts';

const queryFields = ['name', 'access'];

export interface ParsedLexicon {
  fields: LexiconFields;
  ignored: readonly UnknownField[];
}

export function parseLexicon(request: FastifyRequest, isStrict: boolean): ParsedLexicon {
  const { body } = request;
  const isPls = body instanceof PlsBody;
  const { fields, ignored, faults } = isPls
    ? { ...sortQuery(request, isStrict), ignored: [] }
    : sortFields(fieldsOf(request), [...queryFields, 'entries'], isStrict);
  const [name, access] = queryFields.map((field) => {
    const value = fields[field] ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    faults.push({ field, reason: 'type', message: 'must be text' });
    return undefined;
  });
  const content = isPls ? { pls: body.document, field: 'body' } : { entries: fields.entries };
  return { fields: { name, access, content, violations: faults }, ignored };
}
