// Checks received replies against the OpenAPI document: the status, the type, the headers and the body, and the events
// of a stream. Reply schemas count as closed: an undocumented member is a fault. Returns the faults as sentences, or an
// empty list.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorObject, Ajv2020 as Validator } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Content, Parameter, Schema } from '../../../src/transports/http/route-docs.ts';
import { eventsIn } from './event-reader.ts';

/** What the tests read of the document. */
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: readonly [{ url: string }];
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    headers: Readonly<Record<string, { description: string; schema: Schema; example: unknown; required?: boolean }>>;
    examples: Readonly<Record<string, { value: unknown }>>;
    responses: Readonly<Record<string, DocumentedResponse>>;
    securitySchemes: Readonly<Record<string, unknown>>;
  };
}

export interface DocumentedOperation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters?: readonly Parameter[];
  requestBody?: { required: boolean; content: Readonly<Record<string, DocumentedContent>> };
  responses: Readonly<Record<string, DocumentedResponse | { $ref: string }>>;
}

export interface DocumentedContent extends Content {
  examples?: Readonly<Record<string, { value: unknown } | { $ref: string }>>;
}

interface DocumentedResponse {
  description: string;
  headers: Readonly<Record<string, { $ref: string }>>;
  content?: Readonly<Record<string, DocumentedContent>>;
}

export interface Received {
  method: string;
  path: string;
  status: number;
  headers: Headers;
}

type ReplyHeader = OpenApi['components']['headers'][string];

interface Found {
  answer: DocumentedResponse;
  name: string;
}

/** Headers of the connection and of browsers, which operations do not document. */
const apart =
  /^(connection|keep-alive|date|transfer-encoding|content-(length|type|security-policy)|vary|set-cookie|pragma|(x-)?(content-type|frame)-options|referrer-policy|strict-transport-security|(access-control|cross-origin)-.*|permissions-policy)$/;
/** Paths that are not operations, such as those of RPCs and of pages for browsers. */
const elsewhere = /^\/(docs|mcp$|openapi\.json|console|oauth\/(?!get-key)|sonant\.v1\.|grpc\.)/;

function createOpenApiCheck(document: OpenApi) {
  const ajv = new Validator({ strict: true, strictTypes: false, strictRequired: false, logger: false });
  addFormats.default(ajv, ['date', 'date-time', 'uri', 'uri-reference']);
  ajv.addFormat('binary', true).addVocabulary(['example']);
  const resolve = <T>(value: T | { $ref: string }): T => {
    const { $ref } = value as { $ref?: string };
    if ($ref === undefined) return value as T;
    const [kind, name] = $ref.split('/').slice(2) as ['schemas', string];
    return document.components[kind][name] as T;
  };
  /** The schema with its references resolved, and every object closed. */
  const closed = (schema: Schema, isPart = false): Schema => {
    const whole = resolve<Schema>(schema);
    const isObject = whole.properties !== undefined || whole.allOf !== undefined;
    const copy = Object.entries(whole).map(([keyword, value]) => {
      if (keyword === 'properties') {
        const members = Object.entries(value as Record<string, Schema>);
        return [keyword, Object.fromEntries(members.map(([name, member]) => [name, closed(member)]))];
      }
      if (keyword === 'items' || keyword === 'contentSchema') return [keyword, closed(value as Schema)];
      if (keyword === 'allOf') return [keyword, (value as Schema[]).map((part) => closed(part, true))];
      if (keyword === 'oneOf') return [keyword, (value as Schema[]).map((choice) => closed(choice))];
      return [keyword, value];
    });
    return { ...Object.fromEntries(copy), ...(isObject && !isPart && { unevaluatedProperties: false }) };
  };
  const compiled = new Map<unknown, (value: unknown) => string[]>();
  /** The faults of a value. */
  const faultsOf = (schema: Schema, value: unknown): string[] => {
    const key = schema.$ref ?? schema;
    if (!compiled.has(key)) {
      const validate = ajv.compile(closed(schema));
      compiled.set(key, (given) => (validate(given) ? [] : validate.errors!.map(toFault)));
    }
    return compiled.get(key)!(value);
  };

  const paths = Object.entries(document.paths).map(([path, operations]) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    isWrittenOut: !path.includes('{'),
    operations,
  }));
  const operationAt = (method: string, path: string): DocumentedOperation | undefined => {
    const found = paths.filter(({ pattern }) => pattern.test(path));
    const { operations } = found.find(({ isWrittenOut }) => isWrittenOut) ?? found[0] ?? {};
    return operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  };
  const find = ({ method, path, status }: Received): Found | undefined => {
    const operation = operationAt(method, path);
    const answer = operation?.responses[status];
    return operation && answer && { answer: resolve(answer), name: `${operation.operationId} ${status}` };
  };
  const typeOf = ({ headers }: Received) => headers.get('content-type')?.split(';', 1)[0];

  const headerFaults = (headers: Headers, documented: DocumentedResponse['headers']) => {
    const known = new Map(
      Object.entries(documented).map(([name, header]) => [name.toLowerCase(), resolve<ReplyHeader>(header)]),
    );
    const sent = [...headers].filter(([name]) => !apart.test(name));
    const missing = [...known].filter(([name, { required }]) => required && !headers.has(name));
    return [
      ...missing.map(([name]) => `header ${name} is missing`),
      ...sent.flatMap(([name, text]) => {
        const header = known.get(name);
        if (!header) return [`header ${name} is not documented`];
        const isNumber = /^(number|integer)$/.test(String(header.schema.type));
        return faultsOf(header.schema, isNumber ? Number(text) : text).map((fault) => `header ${name}${fault}`);
      }),
    ];
  };

  return {
    faultsOf,
    resolve,
    /** Checks a reply, including its body if it is given. */
    check(received: Received, body?: string): string[] {
      const { method, path, status, headers } = received;
      const found = find(received);
      if (!found) {
        if (elsewhere.test(path) || method === 'OPTIONS') return [];
        const isNowhere = status === 405 || (operationAt(method, path) === undefined && status >= 400);
        if (!isNowhere) return [`${method} ${path}: status ${status} is not documented`];
        const failure = {
          $ref: `#/components/schemas/${typeOf(received)?.includes('problem') ? 'Problem' : 'Failure'}`,
        };
        return body ? faultsOf(failure, JSON.parse(body)).map((fault) => `${method} ${path} ${status}: ${fault}`) : [];
      }
      const { answer, name } = found;
      const type = typeOf(received);
      const content = type === undefined ? undefined : answer.content?.[type];
      const faults = headerFaults(headers, answer.headers);
      if (type !== undefined && !content) faults.push(`type ${type} is not documented`);
      if (type === undefined && answer.content && method !== 'HEAD') faults.push('the type is missing');
      if (content && body && /[/+]json$/.test(type!)) {
        const value = JSON.parse(body);
        faults.push(...faultsOf(content.schema, value));
        // All failures have one schema; a response names its own failures by its examples.
        if (status >= 400 && content.examples && !hasExampleOf(content.examples, value))
          faults.push(`${reasonOf(value)} has no example`);
      }
      return faults.map((fault) => `${name}: ${fault}`);
    },
    /** Checks the complete events in a piece of a stream. */
    checkEvents(received: Received, text: string): string[] {
      const found = find(received);
      const schema = found?.answer.content?.[typeOf(received) ?? '']?.schema.contentSchema as Schema | undefined;
      if (!found || !schema) return [];
      return eventsIn(text).flatMap(({ data }) =>
        faultsOf(schema, data).map((fault) => `${found.name}: event ${data.type}: ${fault}`),
      );
    },
  };
}

let documentCheck: ReturnType<typeof createOpenApiCheck> | undefined;

/** The check against docs/openapi.json, which all test files in this process share. */
export function openDocumentCheck() {
  const file = join(import.meta.dirname, '../../../docs/openapi.json');
  documentCheck ??= createOpenApiCheck(JSON.parse(readFileSync(file, 'utf8')) as OpenApi);
  return documentCheck;
}

const reasonOf = ({ error }: { error: string | { code: string } }) => (typeof error === 'string' ? error : error.code);
const hasExampleOf = (examples: object, failure: Parameters<typeof reasonOf>[0]) =>
  Object.keys(examples).some((name) => name.split('.')[0] === reasonOf(failure));

const toFault = ({ instancePath, message, params }: ErrorObject) =>
  `${instancePath} ${message} ${JSON.stringify(params)}`;
