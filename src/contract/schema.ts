// Reads REST endpoints, JSON member names and field rules from the descriptors of Sonant's protos.
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { type FieldRules, field as rulesOption } from '../../gen/buf/validate/validate_pb.ts';
import { http } from '../../gen/google/api/annotations_pb.ts';
import type { HttpRule } from '../../gen/google/api/http_pb.ts';
import {
  type RestBinding,
  type RestField,
  rest_field,
  rest_name,
  rest_service,
  rest as restOption,
} from '../../gen/sonant/v1/rest_pb.ts';
import { oncePer } from '../platform/runtime/once-per.ts';

export interface Endpoint {
  verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path template, such as "/api/voices/{voice_id}". */
  path: string;
  /** Request fields in the path. */
  inPath: readonly DescField[];
  /** Request field that is the body, or "*" for all fields that are not in the path. */
  body: DescField | '*' | undefined;
  /** The body if it is a file, not JSON. */
  file: DescField | undefined;
  /** Response field that is the body; undefined for the entire response. */
  responseBody: DescField | undefined;
  /** Options of an additional binding; undefined for the RPC's main endpoint. */
  binding: RestBinding | undefined;
}

/** Returns the REST endpoints of an RPC, the main endpoint first, or an empty list if the RPC has no annotation. */
export function endpointsOf(method: DescMethod): readonly Endpoint[] {
  const rule = getOption(method, http);
  const { additional } = restOfMethod(method);
  return [rule, ...rule.additionalBindings].flatMap((each, i) => {
    const endpoint = toEndpoint(method, each);
    return endpoint ? { ...endpoint, binding: i === 0 ? undefined : additional[i - 1] } : [];
  });
}

function toEndpoint(
  { name, input, output }: DescMethod,
  { pattern, body, responseBody }: HttpRule,
): Omit<Endpoint, 'binding'> | undefined {
  if (pattern.case === undefined) return undefined;
  if (pattern.case === 'custom') throw new Error(`${name} has a custom method`);
  const inBody = body === '' || body === '*' ? undefined : fieldOf(input, body);
  return {
    verb: pattern.case.toUpperCase() as Endpoint['verb'],
    path: pattern.value,
    inPath: Array.from(pattern.value.matchAll(/\{(\w+)\}/g), ([, field]) => fieldOf(input, field!)),
    body: body === '*' ? body : inBody,
    file: inBody?.scalar === ScalarType.BYTES ? inBody : undefined,
    responseBody: responseBody === '' ? undefined : fieldOf(output, responseBody),
  };
}

export function fieldOf(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((each) => each.name === name);
  if (!field) throw new Error(`${desc.typeName} has no field ${name}`);
  return field;
}

export const isOurs = ({ typeName }: DescMessage): boolean => typeName.startsWith('sonant.');

/** Whether the message distinguishes an unset field from a default value. */
export const hasPresence = ({ presence }: DescField): boolean => presence === FeatureSet_FieldPresence.EXPLICIT;

// Options are read once, because reading them takes long.
export const rulesOf = oncePer((field: DescField): FieldRules => getOption(field, rulesOption));
export const restOf = oncePer((field: DescField): RestField => getOption(field, rest_field));
export const restOfMethod = oncePer((method: DescMethod) => getOption(method, restOption));
export const restOfService = oncePer((service: DescService) => getOption(service, rest_service));
/** What the protos say about REST. */
export const restOptions = { ofField: restOf, ofMethod: restOfMethod, ofService: restOfService };

/** A member of a JSON object. If `outer` is set, the member is a field of that nested message, which is inlined. */
export interface Member {
  name: string;
  field: DescField;
  rest: RestField;
  outer: (DescField & { fieldKind: 'message' }) | undefined;
}

/** The members of a message in JSON, in the order of its fields. */
export const membersOf = oncePer((desc: DescMessage): readonly Member[] =>
  desc.fields.flatMap((field): Member[] => {
    const rest = restOf(field);
    if (rest.hidden || rest.header !== '' || rest.eventId || rest.eventType) return [];
    if (!rest.inline || field.fieldKind !== 'message') return [{ name: field.name, field, rest, outer: undefined }];
    return membersOf(field.message).map((inner) => ({ ...inner, outer: field }));
  }),
);

interface EnumNames {
  /** The names of all values except the unspecified one. */
  names: readonly string[];
  toNumber(name: string): number | undefined;
  /** Returns the name of a value; undefined for the unspecified value. */
  toName(value: number): string | undefined;
}

/** The names of the values that the rules of a field allow. */
export function allowedNames(desc: DescEnum, rules: FieldRules | undefined): readonly string[] {
  const { names, toNumber } = enumNames(desc);
  const { notIn: refused = [] } = kindOf(rules, 'enum');
  return refused.length > 0 ? names.filter((name) => !refused.includes(toNumber(name)!)) : names;
}

/** The names of the values in JSON: VOICE_ACCESS_PRIVATE is "private". */
export const enumNames = oncePer((desc: DescEnum): EnumNames => {
  const prefix = desc.sharedPrefix?.length ?? 0;
  const rows = desc.values
    .filter(({ number }) => number !== 0)
    .map((value) => [getOption(value, rest_name) || value.name.slice(prefix).toLowerCase(), value.number] as const);
  const numbers = new Map(rows);
  const texts = new Map(rows.map(([name, number]) => [number, name]));
  return {
    names: rows.map(([name]) => name),
    toNumber: (name) => numbers.get(name),
    toName: (value) => texts.get(value),
  };
});

type Kind = NonNullable<FieldRules['type']['case']>;
type RulesOf<K extends Kind> = Extract<FieldRules['type'], { case: K }>['value'];

/** The rules of this kind, such as those of a string; empty if the field has none of them. */
export const kindOf = <K extends Kind>(rules: FieldRules | undefined, kind: K) =>
  (rules?.type.case === kind ? rules.type.value : {}) as Partial<RulesOf<K>>;
