// Reads a message from strict JSON or from a query, with one reader per field. Values are not coerced, and null means
// absent. Reports all violations, each with its path. A value that cannot be read leaves the field unset.
import { create, type DescEnum, type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FieldRules } from '../../gen/buf/validate/validate_pb.ts';
import { oncePer } from '../platform/runtime/once-per.ts';
import { allowedNames, enumNames, isOurs, kindOf, type Member, membersOf, restOf, rulesOf } from './schema.ts';
import {
  type Fields,
  isObject,
  toViolation,
  type UnknownField,
  unknownField,
  unknownFieldsMax,
  Violations,
} from './violations.ts';

/** Options for reading one request, and what was found while reading. */
export class Reading {
  /** Whether unknown members are refused. Otherwise they are ignored and reported. */
  isStrict: boolean;
  ignored: UnknownField[] = [];
  violations = new Violations();
  /** Paths of the fields that have a value, even an empty one. */
  given: string[] = [];
  /** Paths of the given lists that are empty. */
  emptyLists: string[] = [];
  /** Paths of the fields that are null. */
  cleared: string[] = [];

  constructor(isStrict: boolean) {
    this.isStrict = isStrict;
  }
}

/** Reads a value. Returns undefined and reports a violation if the value has the wrong type. */
type Read = (value: unknown, path: string, reading: Reading) => unknown;
type Assigned = Record<string, unknown>;

interface MemberReader extends Member {
  read: Read;
}

interface Reader {
  known: readonly string[];
  members: ReadonlyMap<string, MemberReader>;
  /** Names of the members that must be present, even if null. */
  required: readonly string[];
}

const readerOf = oncePer((desc: DescMessage): Reader => {
  const members = membersOf(desc).map((member) => [member.name, { ...member, read: readOf(member.field) }] as const);
  const required = members.filter(([, { rest }]) => rest.given).map(([name]) => name);
  return { known: members.map(([name]) => name), members: new Map(members), required };
});

interface MemberNames {
  prefix?: string;
  /** Fields that are not accepted as members. */
  without?: readonly string[];
  /** Members that the caller reads. */
  also?: readonly string[];
}

/** Sets the fields of the message from the members of an object. */
export function readMembers(
  message: Message,
  desc: DescMessage,
  given: Fields,
  reading: Reading,
  { prefix = '', without = [], also = [] }: MemberNames = {},
): void {
  const { known, members, required } = readerOf(desc);
  let unknownCount = 0;
  let names: readonly string[] | undefined;
  for (const name of Object.keys(given)) {
    if (also.includes(name)) continue;
    const member = without.includes(name) ? undefined : members.get(name);
    if (!member) {
      // Created once, because a body may have as many unknown members as it has room for.
      names ??= [...known.filter((each) => !without.includes(each)), ...also];
      const unknown = unknownField(name, names, prefix);
      reading.ignored.push(unknown);
      if (reading.isStrict && unknownCount++ < unknownFieldsMax) reading.violations.add([toViolation(unknown)]);
    } else readMember(message, member, given[name] ?? undefined, reading, prefix);
  }
  for (const name of required)
    if (!Object.hasOwn(given, name)) reading.violations.report(prefix + name, 'required', 'must be given');
}

function readMember(message: Message, member: MemberReader, value: unknown, reading: Reading, prefix: string): void {
  const { field, outer, read } = member;
  const path = prefix + member.name;
  if (value === undefined) {
    reading.cleared.push(path);
    return;
  }
  const target = (outer ? messageIn(message as unknown as Assigned, outer) : message) as unknown as Assigned;
  if (field.fieldKind === 'message' && isOurs(field.message) && isObject(value)) {
    const inner = create(field.message);
    target[field.localName] = inner;
    readMembers(inner, field.message, value, reading, { prefix: `${path}.` });
    return;
  }
  const taken = read(value, path, reading);
  if (taken === undefined) return;
  reading.given.push(path);
  if (Array.isArray(taken) && taken.length === 0) reading.emptyLists.push(path);
  if (field.oneof) target[field.oneof.localName] = { case: field.localName, value: taken };
  else target[field.localName] = taken;
}

function messageIn(target: Assigned, { localName, message }: NonNullable<Member['outer']>): Message {
  target[localName] ??= create(message);
  return target[localName] as Message;
}

/** Sets the fields of the message from the parameters of a query. An empty parameter counts as absent. */
export function readQuery(
  message: Message,
  desc: DescMessage,
  query: Fields,
  reading: Reading,
  { without = [] }: { without?: readonly string[] } = {},
): void {
  for (const [name, member] of readerOf(desc).members) {
    const { field, read } = member;
    const given = query[name];
    if (given === undefined || given === '' || without.includes(name)) continue;
    const isList = field.fieldKind === 'list';
    if (Array.isArray(given) && !isList) {
      reading.violations.report(name, 'type', 'must be given once');
      continue;
    }
    const values = [given]
      .flat()
      .map((text) => (field.fieldKind === 'scalar' ? fromText(String(text), field.scalar) : text));
    const taken = read(isList ? values : values[0], name, reading);
    if (taken !== undefined) (message as unknown as Assigned)[field.localName] = taken;
  }
}

/**
 * Sets the field of the oneof that the member `type` names, from the other members, as in {"type":"text","text":"Hi."}.
 */
export function readFrame(
  message: Message,
  { oneofs: [oneof] }: DescMessage,
  { type, ...given }: Fields,
  reading: Reading,
  also: readonly string[] = [],
): void {
  const names = oneof!.fields.map(({ name }) => name);
  const field = oneof!.fields.find(({ name }) => name === type);
  if (!field?.message) {
    reading.violations.report('type', 'enum', `must be one of ${names.join(', ')}`, { allowed: names });
    return;
  }
  const value = create(field.message);
  (message as unknown as Assigned)[oneof!.localName] = { case: field.localName, value };
  // A null member counts as absent.
  const members = Object.fromEntries(Object.entries(given).filter(([, each]) => each !== null));
  readMembers(value, field.message, members, reading, { also });
}

function fromText(text: string, type: ScalarType): unknown {
  if (type === ScalarType.STRING) return text;
  if (type === ScalarType.BOOL) return text === 'true' || (text === 'false' ? false : text);
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

const mustBe = (what: string, reading: Reading, path: string) =>
  reading.violations.report(path, 'type', `must be ${what}`);

function readOf(field: DescField): Read {
  switch (field.fieldKind) {
    case 'scalar': {
      const { in: allowed = [] } = kindOf(rulesOf(field), 'int32');
      if (allowed.length > 0) return readOneOf(allowed);
      return restOf(field).partial ? readPartialText : readScalar(field.scalar);
    }
    case 'enum':
      return readEnum(field.enum, rulesOf(field));
    case 'message':
      return readMessage(field.message);
    case 'list': {
      const item = readItem(field);
      const empty = () => (field.listKind === 'message' ? create(field.message) : emptyOf(field));
      return (value, path, reading) => {
        if (!Array.isArray(value)) return mustBe('a list', reading, path);
        // An item that cannot be read becomes an empty item, so that the other items keep their indexes.
        return value.map((each, i) => item(each, `${path}[${i}]`, reading) ?? empty());
      };
    }
    case 'map': {
      const item = readItem(field);
      return (value, path, reading) => {
        if (!isObject(value)) return mustBe('an object', reading, path);
        const read = Object.entries(value).map(([name, each]) => [
          name,
          item(each, `${path}.${name.slice(0, nameCharsMax)}`, reading),
        ]);
        return Object.fromEntries(read.filter(([, each]) => each !== undefined));
      };
    }
  }
}

const readOneOf =
  (allowed: readonly number[]): Read =>
  (value, path, reading) =>
    allowed.includes(value as number)
      ? value
      : reading.violations.report(path, 'enum', `must be one of ${allowed.join(', ')}`, { allowed });

function readItem(field: DescField & { fieldKind: 'list' | 'map' }): Read {
  if (field.message) return readMessage(field.message, restOf(field).strict);
  return field.enum ? readEnum(field.enum, undefined) : readScalar(field.scalar!);
}

const readPartialText: Read = (value, path, reading) =>
  typeof value === 'string' ? value : mustBe('text', reading, path);

const emptyOf = ({ scalar }: DescField) => (scalar === ScalarType.STRING ? '' : 0);

const int32Max = 2 ** 31 - 1;
const uint32Max = 2 ** 32 - 1;

function readScalar(type: ScalarType): Read {
  switch (type) {
    case ScalarType.STRING:
      return (value, path, reading) => {
        if (typeof value !== 'string') return mustBe('text', reading, path);
        if (value.isWellFormed()) return value;
        return reading.violations.report(path, 'encoding', 'must be text without an unpaired surrogate');
      };
    case ScalarType.BOOL:
      return (value, path, reading) => (typeof value === 'boolean' ? value : mustBe('true or false', reading, path));
    case ScalarType.DOUBLE:
      return (value, path, reading) => (typeof value === 'number' ? value : mustBe('a number', reading, path));
    case ScalarType.INT64:
      return (value, path, reading) =>
        Number.isSafeInteger(value) ? BigInt(value as number) : mustBe('a whole number', reading, path);
    case ScalarType.INT32:
    case ScalarType.UINT32: {
      const [min, max] = type === ScalarType.INT32 ? [-int32Max, int32Max] : [0, uint32Max];
      return (value, path, reading) => {
        if (!Number.isInteger(value)) return mustBe('a whole number', reading, path);
        if ((value as number) >= min && (value as number) <= max) return value;
        return reading.violations.report(path, 'range', `must be ${min} to ${max}`);
      };
    }
    case ScalarType.BYTES:
      return (value, path, reading) => {
        if (typeof value !== 'string') return mustBe('text in base64', reading, path);
        if (base64Form.test(value)) return new Uint8Array(Buffer.from(value, 'base64'));
        return reading.violations.report(path, 'format', 'must be base64');
      };
    default:
      throw new Error(`no JSON is read for ${ScalarType[type]}`);
  }
}

/** Maximum length of a name in a path. A caller may send a name as long as the body. */
const nameCharsMax = 100;
const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;

function readEnum(desc: DescEnum, rules: FieldRules | undefined): Read {
  const { toNumber } = enumNames(desc);
  const names = allowedNames(desc, rules);
  return (value, path, reading) => {
    if (typeof value !== 'string') return mustBe('text', reading, path);
    if (names.includes(value)) return toNumber(value);
    return reading.violations.report(path, 'enum', `must be one of ${names.join(', ')}`, {
      allowed: names,
    });
  };
}

const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

function readMessage(desc: DescMessage, isStrict = false): Read {
  if (desc.typeName === 'google.protobuf.Timestamp')
    return (value, path, reading) => {
      const time = typeof value === 'string' && timeForm.test(value) ? new Date(value) : undefined;
      if (!time || Number.isNaN(time.getTime()))
        return mustBe('an RFC 3339 time such as 2026-01-31T12:00:00Z', reading, path);
      return timestampFromDate(time);
    };
  return (value, path, reading) => {
    if (!isObject(value)) return mustBe('an object', reading, path);
    const message = create(desc);
    // An update mask names the field as a whole, so the members of the inner message are not collected.
    const { ignored, violations } = reading;
    const own = { ignored, violations, isStrict: isStrict || reading.isStrict, given: [], emptyLists: [], cleared: [] };
    readMembers(message, desc, value, own, { prefix: `${path}.` });
    return message;
  };
}
