// The failures of operations in the OpenAPI document: one response per status, with the schemas of its bodies and an
// example of each failure. The examples are rendered by the code that renders real failures.
import {
  Failure,
  type FieldViolation,
  failureTable,
  fieldReasons,
  type Reason,
  retryAdvice,
} from '../../platform/errors.ts';
import { toFailureBody, toFailureReply } from '../net/failure-reply.ts';
import type { ReplyHeaderName } from './documented-headers.ts';
import { toOpenAiReply } from './openai-failure.ts';
import { isForKey, objectSchema, type RouteDocs, type Schema, text } from './route-docs.ts';

const exampleRequestId = 'req_01JD3Q8S6V5W2K9YB4XJ';
const string: Schema = { type: 'string' };
const error = text('The failure reason, a stable identifier.', { enum: Object.keys(failureTable) });
const message = text('A description of the failure.');

const violationSchema: Schema = {
  title: 'FieldViolation',
  type: 'object',
  required: ['field', 'reason', 'message'],
  properties: {
    field: text('Name of the field, such as `text_chunks[2]`.'),
    reason: text('Kind of the violation, a stable identifier.', {
      enum: [...Object.keys(fieldReasons), ...Object.keys(failureTable)],
    }),
    message: text('A description of the violation.'),
    allowed: {
      type: 'array',
      items: { type: ['string', 'number'] },
      description: 'The allowed values, where the reason is `enum`.',
    },
  },
  if: { properties: { reason: { const: 'enum' } }, required: ['reason'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { allowed: {} }, required: ['allowed'] },
};
const failureSchema: Schema = {
  title: 'Failure',
  description: 'The body of every error response.',
  type: 'object',
  required: ['error', 'message', 'status', 'request_id'],
  properties: {
    error,
    message,
    status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status.' },
    request_id: text('The same as X-Request-Id; include it when you contact the operator.'),
    details: { type: 'array', description: 'All invalid fields.', items: violationSchema },
    required_scopes: { type: 'array', items: string, description: 'The scopes that the key needs.' },
    retry_after: { type: 'integer', minimum: 1, description: 'Seconds to wait before a retry, as in Retry-After.' },
    limit: { type: 'number', description: 'The largest allowed value.' },
    actual: { type: 'number', description: 'The value of the request.' },
    reason: text('The limit that was exceeded.', { enum: ['requests', 'concurrency', 'characters'] }),
  },
};

const problemSchema: Schema = {
  title: 'Problem',
  description: 'A failure in the form of RFC 9457, for clients that accept application/problem+json.',
  allOf: [
    failureSchema,
    {
      type: 'object',
      required: ['type', 'title', 'detail', 'instance'],
      properties: {
        type: text('Documentation of the failure.', { format: 'uri-reference' }),
        title: text('The general description of the failure reason.'),
        detail: text('The description of this failure.'),
        instance: text('The request.', { format: 'uri' }),
      },
    },
  ],
};

const openAiErrorSchema = objectSchema('OpenAiError', {
  message: string,
  type: { type: 'string', enum: ['invalid_request_error', 'requests', 'server_error'] },
  param: { type: ['string', 'null'], description: 'The invalid member, if there is one.' },
  code: error,
});
export const openAiFailureSchema = objectSchema(
  'OpenAiFailure',
  { error: openAiErrorSchema },
  'OpenAI’s error object.',
);

const example = (reason: Reason) => {
  const details: FieldViolation[] = [{ field: 'text', reason: 'required', message: 'is required' }];
  const facts: Partial<Record<Reason, Failure['facts']>> = {
    invalid_request: { details },
    text_too_long: { limit: 5000, actual: 6120 },
    insufficient_scope: { requiredScopes: ['speech:synthesize'] },
    rate_limit_exceeded: { limitReason: 'requests', retryAfterSeconds: 1.5 },
    payload_too_large: { limit: 1_048_576, actual: 2_000_000 },
  };
  return new Failure(reason, facts[reason]);
};
const recipient = { requestId: exampleRequestId, accept: 'application/problem+json' };
const reasons = Object.keys(failureTable) as Reason[];
const examplesOf = (toValue: (failure: Failure) => unknown, ending = '') =>
  Object.fromEntries(
    reasons.map((reason) => [reason + ending, { summary: reason, value: toValue(example(reason)) }] as const),
  );

export const failureExamples: Readonly<Record<string, { summary: string; value: unknown }>> = {
  ...examplesOf((failure) => toFailureBody(failure, exampleRequestId)),
  ...examplesOf((failure) => JSON.parse(toFailureReply(failure, recipient).body), '.problem'),
  ...examplesOf((failure) => JSON.parse(toOpenAiReply(failure, recipient).body), '.openai'),
};

/** Whether a reply with this failure may have Retry-After. */
const mayRetry = (reason: Reason) => retryAdvice(reason) !== 'no';

/**
 * The failures shared by all operations of this kind and the operation's own failures, in the order of the failure
 * table.
 */
function failuresOf(operation: RouteDocs): Reason[] {
  const { scopes, bearer, body, parameters, failures, tag } = operation;
  const met = new Set<Reason>(failures);
  const add = (...more: Reason[]) => more.forEach((reason) => void met.add(reason));
  if (tag !== 'Service') add('internal_error', 'overloaded');
  if (isForKey(operation)) add('invalid_api_key', 'access_denied', 'rate_limit_exceeded', 'storage_unavailable');
  if (isForKey(operation) && scopes?.length !== 0) add('insufficient_scope');
  if (bearer === 'token') add('invalid_token');
  if (parameters || body || isForKey(operation)) add('invalid_request');
  if (body) add('request_timeout', 'payload_too_large', 'unsupported_media_type');
  return reasons.filter((reason) => met.has(reason));
}

interface FailureAnswer {
  /** Name of the response, which all operations with the same failures share. */
  name: string;
  description: string;
  headers: readonly ReplyHeaderName[];
  content: Readonly<Record<string, unknown>>;
}

/** One response per status, with an example of each of its failures. */
export function toFailureAnswers(operation: RouteDocs): (readonly [status: number, FailureAnswer])[] {
  const { isOpenAi, isPage } = operation;
  const byStatus = Map.groupBy(failuresOf(operation), (reason) => failureTable[reason].status);
  return [...byStatus].map(([status, group]) => {
    const way = isOpenAi ? ['openai'] : isPage ? ['page'] : [];
    const ways = [...group, ...way, ...(isForKey(operation) ? [] : ['keyless'])];
    const answer = {
      name: ways.join('.'),
      description: group.map((reason) => `\`${reason}\`: ${failureTable[reason].sentence}`).join('\n\n'),
      headers: [
        ...(['Cache-Control', 'x-should-retry'] as const),
        ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
        ...(isForKey(operation) && status !== 401 ? (['RateLimit-Policy', 'RateLimit'] as const) : []),
        ...(status === 415 ? (['Accept-Encoding'] as const) : []),
        ...(status === 416 ? (['Content-Range'] as const) : []),
        ...(group.some(mayRetry) ? (['Retry-After', 'retry-after-ms'] as const) : []),
      ],
      content: isOpenAi ? openAiContent(group) : { ...flatContent(group), ...(isPage && pageContent) },
    };
    return [status, answer] as const;
  });
}

const references = (group: readonly Reason[], ending = '') =>
  Object.fromEntries(group.map((reason) => [reason, { $ref: `#/components/examples/${reason}${ending}` }]));

const flatContent = (group: readonly Reason[]) => ({
  'application/json': { schema: failureSchema, examples: references(group) },
  'application/problem+json': { schema: problemSchema, examples: references(group, '.problem') },
});

const pageContent = { 'text/html': { schema: string } };

const openAiContent = (group: readonly Reason[]) => ({
  'application/json': { schema: openAiFailureSchema, examples: references(group, '.openai') },
});
