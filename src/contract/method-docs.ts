// Describes one REST endpoint for OpenAPI 3.1, from the descriptor of its RPC. Parameters and bodies come from fields,
// limits from rules, descriptions from comments, examples from options. The whole document is made in
// transports/http/docs/openapi-document.ts.
import { type DescField, type DescMessage, type DescMethod, ScalarType } from '@bufbuild/protobuf';
import type { FieldRules } from '../../gen/buf/validate/validate_pb.ts';
import { protoReference } from '../../gen/sonant/v1/reference.ts';
import {
  allowedNames,
  type Endpoint,
  enumNames,
  fieldOf,
  hasPresence,
  isOurs,
  kindOf,
  type Member,
  membersOf,
  restOf,
  restOfMethod,
  restOfService,
  rulesOf,
} from './schema.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  description: string;
  schema: Schema;
  required?: boolean;
  example?: unknown;
}

interface MethodDocs {
  id: string;
  tag: string;
  summary: string;
  description: string;
  scopes: readonly string[];
  parameters?: readonly Parameter[];
  body: { schema?: Schema; examples: Readonly<Record<string, unknown>>; isOptional?: true } | undefined;
  answers: Readonly<Record<number, unknown>>;
  failures: readonly string[];
  bearer?: string;
}

/** In an event, members that are not set are absent, not null. */
type Side = 'request' | 'response' | 'event';

export function documentMethod(method: DescMethod, endpoint: Endpoint, scopes: readonly string[]): MethodDocs {
  const options = restOfMethod(method);
  const { inPath, body, file, verb, binding } = endpoint;
  const hasQuery = verb === 'GET' || file !== undefined;
  const query = membersOf(method.input).filter(({ field }) => hasQuery && field !== body && !inPath.includes(field));
  const headers = method.input.fields.filter((field) => !['', 'Content-Type'].includes(restOf(field).header));
  const parameters = [
    ...inPath.map(toPathParameter),
    ...query.map(toQueryParameter),
    ...headers.map(toHeaderParameter),
  ];
  return {
    id: binding?.id || method.localName,
    tag: restOfService(method.parent).tag,
    summary: binding?.summary || options.summary || toWords(method.name),
    description: binding?.description || options.description || firstParagraph(commentOf(method.name)),
    scopes,
    ...(parameters.length > 0 && { parameters }),
    // These members are getters, so that they are computed only for the OpenAPI document.
    get body() {
      return body && toBody(method, endpoint);
    },
    get answers() {
      return toAnswers(method, endpoint);
    },
    failures: [...options.failures, ...(binding?.failures ?? [])],
    ...(options.bearer !== '' && { bearer: options.bearer }),
  };
}

/** Converts "sample_rate" to "SampleRate". */
const toTitle = (name: string) => name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Converts "GetVoice" to "Get voice". */
const toWords = (name: string) =>
  name.replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);

/** The first paragraph of a comment, without its text about failures, which the document states separately. */
const firstParagraph = (comment: string) => comment.split('\n\n')[0]!.replace(/ ?Fails (with|as|like) .*$/s, '');

let comments: ReadonlyMap<string, string> | undefined;

function commentOf(name: string): string {
  comments ??= new Map([
    ...protoReference.messages.flatMap((message) => [
      [message.name, message.comment] as const,
      ...message.fields.map((field) => [`${message.name}.${field.name}`, field.comment] as const),
    ]),
    ...protoReference.services.flatMap(({ methods }) => methods.map(({ name, comment }) => [name, comment] as const)),
  ]);
  return comments.get(name) ?? '';
}

const shortName = ({ typeName }: DescMessage) => typeName.replace('sonant.v1.', '');
const messageComment = (desc: DescMessage): string => commentOf(shortName(desc));
const descriptionOf = (field: DescField) => commentOf(`${shortName(field.parent)}.${field.name}`);
const fromJson = (text: string): unknown => (text === '' ? undefined : JSON.parse(text));

function toPathParameter(field: DescField): Parameter {
  const { description, ...schema } = schemaOf(field, 'request');
  const { idPrefix, example } = restOf(field);
  return {
    in: 'path',
    name: 'id',
    description: String(description),
    schema: { ...schema, minLength: undefined, ...(idPrefix && { pattern: `^${idPrefix}` }) },
    required: true,
    example: fromJson(example),
  };
}

function toQueryParameter({ name, field }: Member): Parameter {
  const { description, ...schema } = schemaOf(field, 'request');
  return { in: 'query', name, description: String(description), schema };
}

function toHeaderParameter(field: DescField): Parameter {
  const description = descriptionOf(field);
  return { in: 'header', name: restOf(field).header, description, schema: { type: 'string' } };
}

function toBody(method: DescMethod, { body, file, inPath }: Endpoint): NonNullable<MethodDocs['body']> {
  // The route adds the content types of the file.
  if (file) return { examples: {} };
  const { name, input } = method;
  const isUpdate = body !== '*';
  const desc = isUpdate ? (body as DescField).message! : input;
  const members = membersOf(desc).filter(({ field }) => !inPath.includes(field));
  const examples = members.flatMap((member) => {
    const own = fromJson(member.rest.example);
    return own === undefined ? [] : [[member.name, own] as const];
  });
  const isOptional = members.every(({ field, rest }) => !isRequired(field, rest));
  return {
    schema: withNull(toObject(name, members, { side: 'request', isPartial: isUpdate })),
    examples: { usual: Object.fromEntries(examples) },
    ...(isOptional && !isUpdate && { isOptional: true }),
  };
}

/**
 * Makes a schema nullable. A schema with a title is not changed, because its other uses need not be nullable. An enum
 * without a title stays as it is: generated Go does not compile with null among its values.
 */
function nullable(schema: Schema): Schema {
  const { title, type, oneOf, default: usual, description, ...rules } = schema;
  if (Array.isArray(type) || oneOf || (rules.enum && !title)) return schema;
  const about = { ...(usual !== undefined && { default: usual }), description };
  if (title) return { oneOf: [{ title, type, ...rules }, { type: 'null' }], ...about };
  return { type: [type, 'null'], ...rules, ...about };
}

/** The schema of a JSON body, in which a member that is not required may also be null, which counts as absent. */
function withNull(schema: Schema): Schema {
  const { properties, items, required = [] } = schema as { [name: string]: Schema } & { required?: string[] };
  if (items) return { ...schema, items: withNull(items) };
  if (!properties) return schema;
  const members = Object.entries(properties).map(([name, each]) => {
    const inner = withNull(each as Schema);
    return [name, required.includes(name) ? inner : nullable(inner)];
  });
  return { ...schema, properties: Object.fromEntries(members) };
}

function toAnswers(method: DescMethod, { responseBody }: Endpoint): Readonly<Record<number, unknown>> {
  if (method.methodKind === 'server_streaming') return toEventAnswers(method, responseBody);
  const { status, location, noStore, doneField } = restOfMethod(method);
  const isUncached = noStore || restOfService(method.parent).guarded;
  const headers = [
    ...method.output.fields.flatMap((field) => restOf(field).header || []),
    ...(isUncached ? ['Cache-Control'] : []),
    ...(location === '' ? [] : ['Location']),
  ];
  const about = headers.length > 0 ? { headers } : {};
  if (status === 204) return { 204: { description: 'Done.', ...about } };
  const desc = responseBody?.message ?? method.output;
  const own = responseBody ? fromJson(restOf(responseBody).example) : {};
  const content = { schema: toMessage(desc, 'response'), example: { ...exampleOf(desc), ...(own as object) } };
  const description = responseBody ? descriptionOf(responseBody) : messageComment(desc);
  const done = { ...content, example: { ...content.example, [doneField]: true } };
  return {
    ...(doneField !== '' && { 200: { description, content: { 'application/json': done } } }),
    [status || (location === '' ? 200 : 201)]: { description, ...about, content: { 'application/json': content } },
  };
}

function toEventAnswers({ input, output }: DescMethod, responseBody: DescField | undefined) {
  const schema = responseBody?.message ? toMessage(responseBody.message, 'response') : toEventSchema(output);
  const isResumed = input.fields.some((field) => restOf(field).header === 'Last-Event-ID');
  const events = {
    type: 'string',
    description: 'Server-Sent Events with this data.',
    contentMediaType: 'text/event-stream',
    contentSchema: schema,
  };
  return {
    200: {
      description: 'The events.',
      headers: ['Cache-Control', 'X-Accel-Buffering'],
      content: { 'text/event-stream': { schema: events, example: exampleEvents(output, responseBody) } },
    },
    ...(isResumed && { 204: { description: 'There are no more events.', headers: ['Cache-Control'] } }),
  };
}

/** Two example events: one of the first type and one of the last type except `error`, or two of the only type. */
function exampleEvents(desc: DescMessage, responseBody: DescField | undefined): string {
  const toText = (start: string, data: object) => `${start}data: ${JSON.stringify(data)}\n\n`;
  if (responseBody?.message) return toText(`event: ${responseBody.name}\n`, exampleOf(responseBody.message)).repeat(2);
  const members = Object.fromEntries(Object.entries(exampleOf(desc)).filter(([, value]) => value !== null));
  const types = typesOf(desc).filter((type) => type !== 'error');
  return [types[0], types.at(-1)]
    .map((type, i) => toText(`id: ${i + 1}\nevent: ${type}\n`, { type, ...members }))
    .join('');
}

/** The names of events. */
const typesOf = ({ fields }: DescMessage): readonly string[] =>
  fields.flatMap((field) => (restOf(field).eventType ? enumNames(field.enum!).names : []));

/**
 * The schema of the data of events. Unset members are left out. The last event may instead state why the stream ends.
 */
function toEventSchema(desc: DescMessage): Schema {
  const members = membersOf(desc);
  const required = members.filter(({ rest }) => rest.given).map(({ name }) => name);
  const event = {
    title: shortName(desc),
    description: messageComment(desc),
    type: 'object',
    required: ['type', ...required],
    properties: {
      type: { type: 'string', enum: typesOf(desc), description: 'The name of the event.' },
      ...Object.fromEntries(members.map(({ name, field }) => [name, schemaOf(field, 'event')])),
    },
  };
  return { title: event.title.replace('Response', 'Event'), oneOf: [event, eventsEndedSchema] };
}

const eventsEndedSchema: Schema = {
  title: 'EventsEnded',
  description: 'Reason for an early end: the resource was deleted, or the key has ended.',
  type: 'object',
  required: ['type', 'error', 'message', 'status', 'retryable', 'request_id'],
  properties: {
    type: { type: 'string', const: 'error' },
    error: { type: 'string', description: 'The reason, as in Failure.' },
    message: { type: 'string', description: 'A description of the reason.' },
    status: { type: 'integer', description: 'The equivalent HTTP status.' },
    retryable: { type: 'boolean', const: false, description: 'Always false: the same request fails again.' },
    request_id: { type: 'string', description: 'Id of the request; include it when you contact the operator.' },
  },
};

/** The schema of a message with all its members. */
export const messageSchema = (desc: DescMessage, side: Side, title = shortName(desc)): Schema =>
  toObject(title, membersOf(desc), { side, description: messageComment(desc) });

const isRequired = (field: DescField, { given }: Member['rest']) => given || rulesOf(field).required;

const toMessage = (desc: DescMessage, side: Side): Schema =>
  messageSchema(desc, side, side === 'response' ? shortName(desc) : shortName(desc).replace(/(Input)?$/, 'Input'));

function toObject(
  title: string,
  members: readonly Member[],
  { side, description = '', isPartial = false }: { side: Side; description?: string; isPartial?: boolean },
): Schema {
  const required = members.filter(({ field, rest }) =>
    side === 'request' ? !isPartial && isRequired(field, rest) : !rest.omitIfEmpty,
  );
  return {
    title,
    ...(description && { description }),
    type: 'object',
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
    ...(side === 'request' && anyOfTexts(members.map(({ name }) => name))),
    properties: Object.fromEntries(members.map(({ name, field }) => [name, schemaOf(field, side)])),
  };
}

/** A request needs one of its texts. Generators take an object with an own `anyOf` for a union, so it is in an `allOf`. */
function anyOfTexts(names: readonly string[]): Schema {
  const texts = ['text', 'text_chunks', 'ssml', 'chapters'].filter((name) => names.includes(name));
  return texts.length > 1 ? { allOf: [{ anyOf: texts.map((name) => ({ required: [name] })) }] } : {};
}

/** Completes the schema of a JSON body: one of its texts is required, and members that are not required may be null. */
export const bodySchema = (schema: Schema): Schema => ({
  ...withNull(schema),
  ...anyOfTexts(Object.keys(schema.properties as object)),
});

/** The schema of the named field of a message. */
export const memberSchema = (desc: DescMessage, name: string, side: Side): Schema =>
  schemaOf(fieldOf(desc, name), side);

/** The schema of a field, with its description. */
function schemaOf(field: DescField, side: Side): Schema {
  const rules = side === 'request' ? rulesOf(field) : undefined;
  const { nullIfEmpty, nullIfUnset, given, default: usual } = restOf(field);
  const description = descriptionOf(field);
  const isNullable =
    nullIfEmpty || nullIfUnset || (side === 'response' && hasPresence(field) && !given && usual === '');
  const orNull = (schema: Schema) => (isNullable ? nullable(schema) : schema);
  if (field.fieldKind === 'list') {
    const { items, minItems = 0n, maxItems = 0n, unique = false } = kindOf(rules, 'repeated');
    const limits = {
      ...(minItems > 0n && { minItems: Number(minItems) }),
      ...(maxItems > 0n && { maxItems: Number(maxItems) }),
      ...(unique && { uniqueItems: true }),
    };
    return { ...orNull({ type: 'array', items: valueSchema(field, side, items) }), ...limits, description };
  }
  if (field.fieldKind === 'map') {
    const { values, maxPairs = 0n } = kindOf(rules, 'map');
    const limits = maxPairs > 0n ? { maxProperties: Number(maxPairs) } : {};
    return { type: 'object', additionalProperties: valueSchema(field, side, values), ...limits, description };
  }
  const value = valueSchema(field, side, rules);
  const fallback = side === 'request' && usual !== '' ? { default: fromJson(usual) } : {};
  return { ...orNull(value), ...fallback, description };
}

/**
 * Returns the schema of a single value, a list item or a map value. The enums of requests have titles, because many
 * requests share them.
 */
function valueSchema(
  { name, enum: values, message, scalar }: DescField,
  side: Side,
  rules: FieldRules | undefined,
): Schema {
  const titled = (title: string) => (side === 'request' ? { title } : {});
  if (values) return { ...titled(values.name), type: 'string', enum: allowedNames(values, rules) };
  if (message?.typeName === 'google.protobuf.Timestamp') return { type: 'string', format: 'date-time' };
  if (message?.typeName === 'google.protobuf.Duration') return { type: 'number' };
  if (message) return toMessage(message, side === 'event' ? 'response' : side);
  switch (scalar) {
    case ScalarType.STRING: {
      const { minLen = 0n, maxLen = 0n, pattern = '', prefix = '', in: names = [] } = kindOf(rules, 'string');
      return {
        type: 'string',
        ...(names.length > 0 && { enum: [...names] }),
        ...(minLen > 0n && { minLength: Number(minLen) }),
        ...(maxLen > 0n && { maxLength: Number(maxLen) }),
        // Patterns that only forbid control characters are not documented.
        ...(pattern && !pattern.includes('\\P{Cc}') ? { pattern } : prefix ? { pattern: `^${prefix}` } : {}),
      };
    }
    case ScalarType.BOOL:
      return { type: 'boolean' };
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' };
    default: {
      const { greaterThan, lessThan, in: allowed = [] } = (rules?.type.value ?? {}) as NumberRules;
      return {
        type: scalar === ScalarType.DOUBLE ? 'number' : 'integer',
        ...(allowed.length > 0 && { ...titled(toTitle(name)), enum: allowed.map(Number) }),
        ...(greaterThan?.case === 'gte' && { minimum: Number(greaterThan.value) }),
        ...(lessThan?.case === 'lte' && { maximum: Number(lessThan.value) }),
      };
    }
  }
}

interface NumberRules {
  greaterThan?: Bound;
  lessThan?: Bound;
  in?: readonly unknown[];
}

interface Bound {
  case: string | undefined;
  value?: unknown;
}

/**
 * Returns an object in which each member has its own example, or a value that its type allows. Optional members are
 * included only if they have an example of their own.
 */
const exampleOf = (desc: DescMessage): Record<string, unknown> =>
  Object.fromEntries(
    membersOf(desc).flatMap(({ name, field, rest: { example, omitIfEmpty } }) => {
      if (example !== '') return [[name, JSON.parse(example)]];
      return omitIfEmpty ? [] : [[name, usualExample(field)]];
    }),
  );

function usualExample(field: DescField): unknown {
  const { fieldKind, message } = field;
  if (fieldKind === 'list') return message && isOurs(message) ? [exampleOf(message)] : [];
  if (fieldKind === 'map') return {};
  if (message?.typeName === 'google.protobuf.Timestamp') return '2030-01-02T03:04:05.000Z';
  if (message && isOurs(message)) return exampleOf(message);
  if (hasPresence(field) || restOf(field).nullIfEmpty) return null;
  if (fieldKind === 'enum') return enumNames(field.enum).names[0];
  if (fieldKind !== 'scalar') return null;
  return field.scalar === ScalarType.STRING ? field.name : field.scalar === ScalarType.BOOL ? true : 1;
}
