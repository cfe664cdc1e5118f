// GET /openapi.json: an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.0), built from the documentation of
// the registered routes. Schemas with a title and failure responses appear once, under components.
import type { FastifyInstance } from 'fastify';
import { apiVersion } from '../../net/headers.ts';
import { contentTypes, type StaticFile, sendStaticFile, toStaticFile } from '../../net/static-file.ts';
import { failureExamples, toFailureAnswers } from '../documented-failures.ts';
import { type ReplyHeaderName, replyHeaders } from '../documented-headers.ts';
import { isForKey, type RouteBody, type RouteDocs, type Schema, tags } from '../route-docs.ts';

/** Serves the document of all routes that are added from now on. */
export function addOpenApi(app: FastifyInstance, baseUrl: () => string): void {
  const routes: { method: string; url: string; operation: RouteDocs }[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const operation = config?.operation;
    const first = Array.isArray(method) ? method[0]! : method;
    if (operation && first !== 'HEAD')
      routes.push({ method: first.toLowerCase(), url: url.replace(/:(\w+)/g, '{$1}'), operation });
  });

  let file: StaticFile | undefined;
  app.get('/openapi.json', (request, reply) => {
    file ??= toStaticFile(contentTypes['.json']!, JSON.stringify(toDocument(routes, baseUrl())));
    return sendStaticFile(request, reply, file);
  });
}

function toDocument(routes: readonly { method: string; url: string; operation: RouteDocs }[], baseUrl: string) {
  const schemas: Record<string, unknown> = {};
  const responses: Record<string, unknown> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, url, operation } of routes) {
    paths[url] = { ...paths[url], [method]: withReferences(toDocumentedOperation(operation, responses), schemas) };
  }
  const byTag = Object.keys(tags).flatMap((tag) => routes.filter(({ operation }) => operation.tag === tag));
  return {
    ...preface(baseUrl),
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(byTag.map(({ url }) => [url, paths[url]])),
    components: {
      schemas,
      responses: withReferences(responses, schemas),
      headers: replyHeaders,
      examples: failureExamples,
      securitySchemes,
    },
  };
}

const securitySchemes = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key: `snt_...`.' },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of `POST /oauth/get-key`, valid for 15 minutes.',
  },
  apiKeyAsBearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key as a bearer token, as OpenAI clients send it.',
  },
};

const description = `Text in, speech out.

Send an API key in \`X-API-Key\`. Every reply carries \`X-Request-Id\`, which is yours if you send one, and \`X-API-Version\`.

An error response is a [Failure](#failures). Members and query parameters that have no meaning are ignored, and listed in \`X-Ignored-Fields\`.

The same calls are served over gRPC, Connect and gRPC-Web, as the package \`sonant.v1\` with server reflection. The key is then the metadata \`x-api-key\`.`;

const preface = (baseUrl: string) => ({
  openapi: '3.1.0',
  info: {
    title: 'Sonant',
    version: apiVersion,
    description,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: baseUrl }],
});

function toDocumentedOperation(operation: RouteDocs, responses: Record<string, unknown>) {
  const { id, tag, summary, description, scopes, parameters, body } = operation;
  const needed = scopes && scopes.length > 0 && `The key needs ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
  const text = [description, needed].filter(Boolean).join(' ');
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(text && { description: text }),
    security: toSecurity(operation),
    ...(parameters && { parameters }),
    ...(body && { requestBody: toRequestBody(body) }),
    responses: { ...toResponses(operation), ...toFailures(operation, responses) },
  };
}

function toSecurity({ scopes, bearer }: RouteDocs) {
  if (!scopes) return [];
  const kinds = ['apiKey', ...(bearer ? [bearer === 'token' ? 'accessToken' : 'apiKeyAsBearer'] : [])];
  // Alternative requirements: any kind of credential with any one of the scopes.
  const choices = scopes.length > 0 ? scopes.map((scope) => [scope]) : [[]];
  return kinds.flatMap((kind) => choices.map((choice) => ({ [kind]: choice })));
}

const toRequestBody = ({ schema, examples, form, file, isOptional }: RouteBody) => ({
  required: !isOptional,
  ...(file && { description: file.description }),
  content: {
    ...(schema && { 'application/json': { schema, examples: toExamples(examples) } }),
    ...(form && { [form.type]: { schema: form.schema, example: form.example } }),
    ...(file && Object.fromEntries(file.types.map((type) => [type, toFileContent(type, file.examples[type])]))),
  },
});

const toFileContent = (type: string, example: string | undefined) => ({
  schema: { type: 'string', contentMediaType: type },
  ...(example !== undefined && { example }),
});

const toExamples = (examples: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));

function toResponses(operation: RouteDocs) {
  const ofKey = isForKey(operation)
    ? (['X-Ignored-Fields', 'X-Did-You-Mean', 'RateLimit-Policy', 'RateLimit'] as const)
    : [];
  return Object.fromEntries(
    Object.entries(operation.answers).map(([status, { description, headers = [], content }]) => [
      status,
      { description, headers: toHeaders([...headers, ...ofKey]), ...(content && { content }) },
    ]),
  );
}

/** The named headers and the headers of every reply. */
const toHeaders = (names: readonly ReplyHeaderName[]) =>
  Object.fromEntries(
    (['X-Request-Id', 'X-API-Version', ...names] as const).map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );

/**
 * References to shared failure responses, which are added to `responses`. A status that the operation documents itself
 * is skipped.
 */
function toFailures(operation: RouteDocs, responses: Record<string, unknown>) {
  const failures = toFailureAnswers(operation).filter(([status]) => operation.answers[status] === undefined);
  return Object.fromEntries(
    failures.map(([status, { name, headers, ...answer }]) => {
      responses[name] ??= { ...answer, headers: toHeaders(headers) };
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}

/** A copy in which each titled schema is replaced by a reference to its entry under components. */
function withReferences(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const copy = () =>
    Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        /^examples?$/.test(name) ? item : withReferences(item, schemas),
      ]),
    );
  const { title, type, allOf, oneOf, enum: names, default: usual, description } = value as Schema;
  if (typeof title !== 'string' || (type ?? allOf ?? oneOf) === undefined) return copy();
  const $ref = `#/components/schemas/${title}`;
  schemas[title] ??= names ? { type, enum: names } : copy();
  if (!names) return { $ref };
  // The values are shared. A field may allow fewer of them, and has its own default and description.
  const refused = (schemas[title] as { enum: unknown[] }).enum.filter((name) => !(names as unknown[]).includes(name));
  return {
    $ref,
    ...(refused.length > 0 && { not: { enum: refused } }),
    ...(usual !== undefined && { default: usual }),
    ...(description !== undefined && { description }),
  };
}
