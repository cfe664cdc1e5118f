// Writes a handler's result as JSON. The result is a message or its init object. The writer of each field is created
// once. An unset member is null. A list is null only if an option of its field requires null.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { type Duration, type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { oncePer } from '../platform/runtime/once-per.ts';
import { enumNames, hasPresence, membersOf } from './schema.ts';

type Init = Readonly<Record<string, any>>;
type Write = (value: any) => unknown;

interface MemberWriter {
  name: string;
  local: string;
  outer: string | undefined;
  /** JSON value that is written if the field is unset. */
  unset: unknown;
  isNullIfEmpty: boolean;
  isOmittedIfEmpty: boolean;
  /** Writes the value; undefined if the value is written unchanged. */
  write: Write | undefined;
}

const writerOf = oncePer((desc: DescMessage): readonly MemberWriter[] =>
  membersOf(desc).map(({ name, field, rest, outer }) => ({
    name,
    local: field.localName,
    outer: outer?.localName,
    unset: rest.nullIfEmpty || rest.nullIfUnset ? null : unsetOf(field),
    isNullIfEmpty: rest.nullIfEmpty,
    isOmittedIfEmpty: rest.omitIfEmpty,
    write: writeOf(field),
  })),
);

export function writeMessage(desc: DescMessage, init: Init): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const { name, local, outer, unset, isNullIfEmpty, isOmittedIfEmpty, write } of writerOf(desc)) {
    const value = outer === undefined ? init[local] : init[outer]?.[local];
    if (isOmittedIfEmpty && (!value || value.length === 0)) continue;
    const isUnset = value === undefined || (isNullIfEmpty && (value === '' || value.length === 0));
    json[name] = isUnset ? unset : write ? write(value) : value;
  }
  return json;
}

function unsetOf(field: DescField): unknown {
  if (field.fieldKind === 'list') return [];
  if (field.fieldKind === 'map') return {};
  if (hasPresence(field) || field.fieldKind !== 'scalar') return null;
  return field.scalar === ScalarType.STRING ? '' : field.scalar === ScalarType.BOOL ? false : 0;
}

function writeOf(field: DescField): Write | undefined {
  const one = writeOne(field);
  if (!one) return undefined;
  if (field.fieldKind === 'list') return (list: readonly unknown[]) => list.map(one);
  if (field.fieldKind === 'map')
    return (map: Init) => Object.fromEntries(Object.entries(map).map(([name, value]) => [name, one(value)]));
  return one;
}

function writeOne({ enum: values, message, scalar }: DescField): Write | undefined {
  if (values) {
    const { toName } = enumNames(values);
    // A value without a name is written as its number, as in protobuf's own JSON.
    return (value: number) => toName(value) ?? (value === 0 ? null : value);
  }
  switch (message?.typeName) {
    case undefined:
      break;
    case 'google.protobuf.Timestamp':
      return (time: Timestamp) => timestampDate(time).toISOString();
    case 'google.protobuf.Duration':
      return ({ seconds, nanos }: Duration) => (Number(seconds) * 1e6 + Math.round(nanos / 1000)) / 1e6;
    default:
      return (inner) => writeMessage(message!, inner);
  }
  if (scalar === ScalarType.INT64) return Number;
  if (scalar === ScalarType.BYTES) return (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  return undefined;
}
