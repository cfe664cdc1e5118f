// Converts a message to values: an enum value to its name, and an unset field to the default that the proto states.
import { type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import { oncePer } from '../platform/runtime/once-per.ts';
import { enumNames, hasPresence, restOf } from './schema.ts';

interface FieldReader {
  local: string;
  /** Value of an unset field; undefined if the proto states no default. */
  unset: unknown;
  /** Converts the value; undefined if the value is returned unchanged. */
  read: ((value: any) => unknown) | undefined;
}

const readersOf = oncePer((desc: DescMessage): readonly FieldReader[] =>
  desc.fields.map((field) => {
    const { default: unset } = restOf(field);
    return { local: field.localName, unset: unset === '' ? undefined : JSON.parse(unset), read: readOf(field) };
  }),
);

/** The values of a message's fields, by local name. An empty string counts as unset, unless the field has presence. */
export function valuesOf(desc: DescMessage, message: Message): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { local, unset, read } of readersOf(desc)) {
    const value = (message as unknown as Readonly<Record<string, unknown>>)[local];
    values[local] = (read && value !== undefined ? read(value) : value) ?? unset;
  }
  return values;
}

function readOf(field: DescField): FieldReader['read'] {
  if (field.enum) {
    const { toName } = enumNames(field.enum);
    if (field.fieldKind === 'enum') return toName;
    return (list: readonly number[]) => list.flatMap((value) => toName(value) ?? []);
  }
  return field.scalar === ScalarType.STRING && field.fieldKind === 'scalar' && !hasPresence(field)
    ? (text: string) => text || undefined
    : undefined;
}
