// The OpenAPI document prepared for the page at /docs: operations by tag, fields with their types and limits in words,
// responses with their content types, and the failures of each operation.

import type { Schema } from '../route-docs.ts';
import type { DocumentedContent, DocumentedOperation, DocumentedResponse, OpenApi } from './openapi-document.ts';

export interface ReferenceOperation {
  method: string;
  path: string;
  operation: DocumentedOperation;
}

export interface ReferenceField {
  name: string;
  /** The type in words, for example `string` or `list of Voice`. */
  kind: string;
  /** Name of the schema that the kind refers to, if any. */
  schemaName: string | undefined;
  isRequired: boolean;
  /** Limits and default, such as `0.25 to 4; default 1`. */
  more: string;
  description: string;
}

export interface ReferenceResponse {
  status: string;
  description: string;
  headers: readonly string[];
  content: Readonly<Record<string, DocumentedContent>>;
}

export function groupsOf(document: OpenApi): { name: string; description: string; operations: ReferenceOperation[] }[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    operations: all.filter(({ operation }) => operation.tags.includes(name)),
  }));
}

/** Resolves a `$ref` to a component. */
export function resolve<T extends object>({ components }: OpenApi, value: T | { $ref: string }): T {
  if (!('$ref' in value)) return value;
  const [kind, name] = String(value.$ref).split('/').slice(2) as [keyof OpenApi['components'], string];
  return components[kind][name] as T;
}

export const schemaNameOf = (schema: Schema): string | undefined =>
  /^#\/components\/schemas\/(\w+)$/.exec(String(schema.$ref ?? ''))?.[1];

export function fieldsOf(document: OpenApi, schema: Schema): ReferenceField[] {
  const {
    properties = {},
    required = [],
    allOf = [],
  } = resolve(document, schema) as {
    properties?: Readonly<Record<string, Schema>>;
    required?: readonly string[];
    allOf?: readonly Schema[];
  };
  const own = Object.entries(properties).map(([name, member]) => ({
    name,
    kind: kindOf(member),
    schemaName: schemaNameOf(((member.oneOf as Schema[] | undefined)?.[0] ?? member.items ?? member) as Schema),
    isRequired: required.includes(name),
    more: moreOf(member),
    description: String(resolve(document, member).description ?? ''),
  }));
  return [...allOf.flatMap((part) => fieldsOf(document, part)), ...own];
}

const formats: Readonly<Record<string, string>> = {
  'date-time': 'time',
  date: 'day',
  uri: 'address',
  'uri-reference': 'address',
  binary: 'file',
};

export function kindOf(schema: Schema): string {
  const { type, items, format, oneOf, additionalProperties } = schema;
  const name = schemaNameOf(schema);
  if (name) return name;
  if (Array.isArray(oneOf)) return oneOf.map(kindOf).join(' or ');
  const kinds = [type ?? 'any'].flat().map((one) => {
    if (one === 'array') return `list of ${kindOf(items as Schema)}`;
    if (one === 'object' && additionalProperties) return `map to ${kindOf(additionalProperties as Schema)}`;
    return one === 'string' ? (formats[String(format)] ?? 'string') : String(one);
  });
  return kinds.join(' or ');
}

export function moreOf(schema: Schema): string {
  const { enum: values, const: constant, pattern, default: usual } = schema;
  const range = (min: unknown, max: unknown, unit = '') => {
    if (max === undefined) return min === undefined || min === 0 ? '' : `at least ${min}${unit}`;
    return min === undefined ? `at most ${max}${unit}` : `${min} to ${max}${unit}`;
  };
  const { items } = schema as { items?: Schema };
  return [
    Array.isArray(values) &&
      (values.length > 1 ? `one of ${values.map(quoted).join(', ')}` : `always ${quoted(values[0])}`),
    constant !== undefined && `always ${quoted(constant)}`,
    range(schema.minimum, schema.maximum),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
    range(undefined, schema.maxProperties, ' members'),
    pattern && `matches ${quoted(pattern)}`,
    Array.isArray(items?.enum) && `of ${items.enum.map(quoted).join(', ')}`,
    usual !== undefined && `default ${quoted(JSON.stringify(usual))}`,
  ]
    .filter(Boolean)
    .join('; ');
}

const quoted = (value: unknown) => `\`${value}\``;

export function responsesOf(document: OpenApi, { responses }: DocumentedOperation): ReferenceResponse[] {
  return Object.entries(responses).map(([status, reference]) => {
    const { description, headers, content = {} } = resolve<DocumentedResponse>(document, reference);
    return { status, description, headers: Object.keys(headers), content };
  });
}

/** The failure reasons that the response documents. */
export const failuresOf = ({ content }: ReferenceResponse): string[] =>
  Object.keys(content['application/json']?.examples ?? {});
