// /openapi.json: OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0), put together from the Operations of the routes that
// are really there. Schemas with a title stand once, under components; examples of failures are real ones.
import type { FastifyInstance } from 'fastify';
import { Failure, failureTable, type Reason } from '../errors.ts';
import { apiVersion } from '../rpc/request-id.ts';
import { toFailureBody } from './failure-reply.ts';
import type { Operation, Schema } from './operation.ts';
import { type ReplyHeaderName, replyHeaders } from './reply-headers.ts';

export interface OpenApi extends Readonly<Record<string, unknown>> {
  paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
}

export interface DocumentedOperation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  parameters?: readonly { in: string; name: string; description: string; required?: boolean; schema: Schema }[];
  requestBody?: {
    required: boolean;
    content: Readonly<Record<string, { schema: Schema; examples?: Readonly<Record<string, { value: unknown }>> }>>;
  };
  security: readonly Readonly<Record<string, readonly string[]>>[];
  responses: Readonly<Record<string, DocumentedAnswer>>;
}

interface DocumentedAnswer {
  description: string;
  headers?: Readonly<Record<string, unknown>>;
  content?: Readonly<Record<string, unknown>>;
}

const exampleRequestId = 'req_01JD3Q8S6V5W2K9YB4XJ';

const failureSchema: Schema = {
  title: 'Failure',
  type: 'object',
  required: ['error', 'message', 'status', 'request_id'],
  properties: {
    error: { type: 'string', enum: Object.keys(failureTable) },
    message: { type: 'string' },
    status: { type: 'integer' },
    request_id: { type: 'string' },
    details: {
      type: 'array',
      description: 'Every field that is wrong.',
      items: {
        type: 'object',
        required: ['field', 'reason', 'message'],
        properties: { field: { type: 'string' }, reason: { type: 'string' }, message: { type: 'string' } },
      },
    },
    required_scopes: { type: 'array', items: { type: 'string' } },
    retry_after: { type: 'number', description: 'Seconds to wait.' },
    limit: { type: 'number' },
    actual: { type: 'number' },
    reason: { type: 'string', enum: ['requests', 'concurrency', 'characters'], description: 'Which limit refused.' },
  },
};
const text = { type: 'string' };
const problemSchema: Schema = {
  title: 'Problem',
  description: 'The same as RFC 9457 has it, for who accepts application/problem+json.',
  allOf: [failureSchema, { type: 'object', properties: { type: text, title: text, detail: text, instance: text } }],
};

/** Keeps account of the routes that are added from now on, and answers with their documentation. */
export function addOpenApi(app: FastifyInstance, baseUrl: () => string): () => OpenApi {
  const routes: { method: string; url: string; operation: Operation }[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const operation = config?.operation;
    const first = Array.isArray(method) ? method[0]! : method;
    if (operation) routes.push({ method: first.toLowerCase(), url: url.replace(/:(\w+)/g, '{$1}'), operation });
  });

  let document: OpenApi | undefined;
  const read = () => {
    if (document) return document;
    const schemas: Record<string, unknown> = {};
    const paths: Record<string, Record<string, unknown>> = {};
    for (const { method, url, operation } of routes) {
      paths[url] = { ...paths[url], [method]: withReferences(toDocumented(operation), schemas) };
    }
    document = {
      ...preface(baseUrl()),
      paths,
      components: { schemas, headers: replyHeaders, examples, securitySchemes },
    } as unknown as OpenApi;
    return document;
  };
  app.get('/openapi.json', (_request, reply) => reply.header('cache-control', 'no-cache').send(read()));
  return read;
}

const securitySchemes = { apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } };

const preface = (baseUrl: string) => ({
  openapi: '3.1.0',
  info: {
    title: 'Sonant',
    version: apiVersion,
    description: 'Text in, speech out. Every response carries X-Request-Id and X-API-Version.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: baseUrl }],
});

function toDocumented(operation: Operation): DocumentedOperation {
  const { id, tag, summary, description, scopes, parameters, body, answers, failures } = operation;
  const needed = scopes && scopes.length > 0 && `The key needs ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
  const told = [description, needed].filter(Boolean).join(' ');
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(told && { description: told }),
    security: scopes ? [{ apiKey: [] }] : [],
    ...(parameters && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: body.schema, examples: toExamples(Object.entries(body.examples)) },
          ...(body.form && { 'multipart/form-data': { schema: body.form } }),
        },
      },
    }),
    responses: { ...toAnswers(answers), ...toFailures(failures) },
  };
}

const toExamples = (examples: readonly (readonly [string, unknown])[]) =>
  Object.fromEntries(examples.map(([name, value]) => [name, { value }]));

/** Of each failure, as it is told. */
const examples = toExamples(
  (Object.keys(failureTable) as Reason[]).map((reason) => [
    reason,
    toFailureBody(new Failure(reason), exampleRequestId),
  ]),
);

const toAnswers = (answers: Operation['answers']) =>
  Object.fromEntries(
    Object.entries(answers).map(([status, { description, headers, content }]) => [
      status,
      { description, headers: toHeaders(headers ?? []), ...(content && { content }) },
    ]),
  );

const toHeaders = (names: readonly ReplyHeaderName[]) =>
  Object.fromEntries(
    (['X-Request-Id', 'X-API-Version', ...names] as const).map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );

/** One answer a status, with an example of each failure that has it. */
function toFailures(reasons: readonly Reason[]) {
  const byStatus = Map.groupBy(reasons, (reason) => failureTable[reason].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => {
      const description = group.map((reason) => `\`${reason}\`: ${failureTable[reason].sentence}`).join('\n\n');
      const isRetryable = group.some((reason) => failureTable[reason].retryable);
      const headers = toHeaders(isRetryable ? ['Retry-After', 'retry-after-ms'] : []);
      const content = {
        'application/json': {
          schema: failureSchema,
          examples: Object.fromEntries(group.map((reason) => [reason, { $ref: `#/components/examples/${reason}` }])),
        },
        'application/problem+json': { schema: problemSchema },
      };
      return [status, { description, headers, content }];
    }),
  );
}

/** A copy in which every schema with a title is a reference to the one under components. */
function withReferences(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const copy = () =>
    Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withReferences(item, schemas)]));
  const { title, type, allOf } = value as Schema;
  if (typeof title !== 'string' || (type === undefined && allOf === undefined)) return copy();
  schemas[title] ??= copy();
  return { $ref: `#/components/schemas/${title}` };
}
