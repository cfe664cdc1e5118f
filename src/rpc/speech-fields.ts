// Converts messages of the speech service to request fields, by the rows of speech/fields.ts and the proto descriptors,
// so that the parser's rules and defaults apply. A field at its proto3 default counts as absent. An unknown enum value
// stays a number, which the parser rejects.
import type { DescEnum, DescField, DescMessage, Message } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { LiveStartSchema } from '../../gen/sonant/v1/speech_pb.ts';
import type { FieldViolation } from '../errors.ts';
import { speechFieldRows } from '../speech/fields.ts';
import { type LiveStart, liveFields, parseLiveStart } from '../speech/live-request.ts';
import { parseSpeechRequest, type SpeechRequest } from '../speech/request.ts';

interface FieldReader {
  json: string;
  read(message: Message): unknown;
}

const readers = new Map<DescMessage, readonly FieldReader[]>();

/** Parses the request in the message. `violations` were found earlier. */
export const parseSpeechMessage = (
  schema: DescMessage,
  message: Message,
  method: SpeechRequest['method'],
  violations: readonly FieldViolation[] = [],
): SpeechRequest => parseSpeechRequest({ method, ...readFields(schema, message, speechFieldRows) }, { violations });

/** Parses the start of live speech. */
export const parseLiveMessage = (message: Message): LiveStart =>
  parseLiveStart(readFields(LiveStartSchema, message, Object.values(liveFields)));

type Row = (typeof speechFieldRows)[number];

/** The fields of the message under their JSON names. */
function readFields(schema: DescMessage, message: Message, rows: readonly Row[]): Record<string, unknown> {
  const known = readers.get(schema) ?? readersOf(schema, rows);
  readers.set(schema, known);
  return Object.fromEntries(known.map(({ json, read }) => [json, read(message)]));
}

const readersOf = (schema: DescMessage, rows: readonly Row[]): readonly FieldReader[] =>
  rows.flatMap(({ json }) => {
    const field = schema.fields.find(({ name }) => name === json);
    return field ? [{ json, read: readerOf(field) }] : [];
  });

function readerOf(field: DescField): FieldReader['read'] {
  const isImplicit = field.presence === FeatureSet_FieldPresence.IMPLICIT;
  const toValue = field.enum ? valueReader(field.enum) : (value: unknown) => value;
  return (message) => {
    const value = (message as unknown as Readonly<Record<string, unknown>>)[field.localName];
    if (Array.isArray(value)) return value.map(toValue);
    return isImplicit && (value === '' || value === 0) ? undefined : toValue(value);
  };
}

/** OUTPUT_FORMAT_WAV is "wav". */
const valueReader = ({ values, sharedPrefix = '' }: DescEnum) => {
  const names = new Map(
    values.map(({ number, name }) => [
      number,
      number === 0 ? undefined : name.toLowerCase().slice(sharedPrefix.length),
    ]),
  );
  return (value: unknown) => (names.has(value as number) ? (names.get(value as number) ?? value) : value);
};

/** The enum value with this name: the inverse of reading a request. */
export const toEnumValue = <Value extends number>({ values, sharedPrefix = '' }: DescEnum, name: string): Value =>
  values.find((value) => value.name.toLowerCase().slice(sharedPrefix.length) === name)!.number as Value;
