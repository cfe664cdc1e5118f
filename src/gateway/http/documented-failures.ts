// How operations fail, in the OpenAPI document: which failures each can meet, of what any of its kind meets and of its
// own, as one answer a status; with examples that are real ones, and the schemas of their bodies.
import { Failure, failureTable, type Reason } from '../../errors.ts';
import { toOpenAiReply } from '../openai/failure-reply.ts';
import { toFailureBody, toFailureReply } from './failure-reply.ts';
import type { ReplyHeaderName } from './reply-headers.ts';
import type { Answer, RouteDocs, Schema } from './route-docs.ts';

const exampleRequestId = 'req_01JD3Q8S6V5W2K9YB4XJ';
const text: Schema = { type: 'string' };

const failureSchema: Schema = {
  title: 'Failure',
  description: 'Every reply that is no success has this body.',
  type: 'object',
  required: ['error', 'message', 'status', 'request_id'],
  properties: {
    error: { ...text, enum: Object.keys(failureTable), description: 'What went wrong, as a stable word.' },
    message: { ...text, description: 'The same in a sentence.' },
    status: { type: 'integer', minimum: 400, maximum: 599, description: 'The status of the reply.' },
    request_id: { ...text, description: 'As in X-Request-Id; quote it to the operator.' },
    details: {
      type: 'array',
      description: 'Every field that is wrong.',
      items: {
        title: 'FieldViolation',
        type: 'object',
        required: ['field', 'reason', 'message'],
        properties: {
          field: { ...text, description: 'Which, such as `text_chunks[2]`.' },
          reason: { ...text, description: 'In what way, as a stable word.' },
          message: { ...text, description: 'The same in a sentence.' },
        },
      },
    },
    required_scopes: { type: 'array', items: text, description: 'What the key would have to be good for.' },
    retry_after: { type: 'number', exclusiveMinimum: 0, description: 'Seconds to wait before trying again.' },
    limit: { type: 'number', description: 'The most that is allowed.' },
    actual: { type: 'number', description: 'What was asked for.' },
    reason: { ...text, enum: ['requests', 'concurrency', 'characters'], description: 'Which limit refused.' },
  },
};

const problemSchema: Schema = {
  title: 'Problem',
  description: 'The same as RFC 9457 has it, for who accepts application/problem+json.',
  allOf: [
    failureSchema,
    {
      type: 'object',
      required: ['type', 'title', 'detail', 'instance'],
      properties: {
        type: { ...text, format: 'uri-reference', description: 'Where the failure is told of.' },
        title: { ...text, description: 'The failure in a sentence, always the same.' },
        detail: { ...text, description: 'What there is to say this time.' },
        instance: { ...text, format: 'uri', description: 'The request.' },
      },
    },
  ],
};

export const openAiFailureSchema: Schema = {
  title: 'OpenAiFailure',
  description: 'OpenAI’s error object.',
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      title: 'OpenAiError',
      type: 'object',
      required: ['message', 'type', 'param', 'code'],
      properties: {
        message: text,
        type: { ...text, enum: ['invalid_request_error', 'requests', 'server_error'] },
        param: { type: ['string', 'null'], description: 'The member that is wrong, where it is one.' },
        code: { ...text, enum: Object.keys(failureTable), description: 'What went wrong, as a stable word.' },
      },
    },
  },
};

const example = (reason: Reason) => {
  const details = [{ field: 'text', reason: 'required', message: 'is required' }];
  const facts: Partial<Record<Reason, Failure['facts']>> = {
    invalid_request: { details },
    text_too_long: { limit: 5000, actual: 6120 },
    insufficient_scope: { requiredScopes: ['speech:synthesize'] },
    rate_limit_exceeded: { limitReason: 'requests', retryAfterSeconds: 1.5 },
    payload_too_large: { limit: 1_048_576, actual: 2_000_000 },
  };
  return new Failure(reason, facts[reason]);
};
const listener = { requestId: exampleRequestId, accept: 'application/problem+json' };
const reasons = Object.keys(failureTable) as Reason[];
const examplesOf = (toValue: (failure: Failure) => unknown, ending = '') =>
  Object.fromEntries(
    reasons.map((reason) => [reason + ending, { summary: reason, value: toValue(example(reason)) }] as const),
  );

/** Of each failure, in each way in which it is told. */
export const failureExamples: Readonly<Record<string, { summary: string; value: unknown }>> = {
  ...examplesOf((failure) => toFailureBody(failure, exampleRequestId)),
  ...examplesOf((failure) => JSON.parse(toFailureReply(failure, listener).body), '.problem'),
  ...examplesOf((failure) => JSON.parse(toOpenAiReply(failure, listener).body), '.openai'),
};

/** Whether it counts against the limits of a key. */
export const isForKey = ({ scopes, isOnBehalf }: RouteDocs): boolean => scopes !== undefined || isOnBehalf === true;

/** Told, where it is known, of what may go well a moment later. */
const mayTellWait = (reason: Reason) =>
  failureTable[reason].retryable || reason === 'engine_error' || reason === 'idempotency_conflict';

/** What an operation can meet: what any of its kind does, and what is its own; in the order of the table. */
function failuresOf(operation: RouteDocs): Reason[] {
  const { scopes, bearer, body, parameters, failures, tag } = operation;
  const met = new Set<Reason>(failures);
  const add = (...more: Reason[]) => more.forEach((reason) => void met.add(reason));
  if (tag !== 'Service') add('internal_error', 'overloaded');
  if (isForKey(operation)) add('invalid_api_key', 'access_denied', 'rate_limit_exceeded', 'storage_unavailable');
  if (isForKey(operation) && scopes?.length !== 0) add('insufficient_scope');
  if (bearer === 'token') add('invalid_token');
  if (parameters || body) add('invalid_request');
  if (body) add('payload_too_large', 'unsupported_media_type');
  return reasons.filter((reason) => met.has(reason));
}

interface FailureAnswer {
  /** The name of the answer, the same for operations that fail alike. */
  name: string;
  description: string;
  headers: readonly ReplyHeaderName[];
  content: Readonly<Record<string, unknown>>;
}

/** One answer a status, with an example of each failure that has it. */
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
        ...(['Cache-Control'] as const),
        ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
        ...(isForKey(operation) && status !== 401 ? (['RateLimit-Policy', 'RateLimit'] as const) : []),
        ...(group.some(mayTellWait) ? (['Retry-After', 'retry-after-ms'] as const) : []),
      ],
      content: isOpenAi ? openAiContent(group) : { ...flatContent(group), ...(isPage && pageContent) },
    };
    return [status, answer] as const;
  });
}

/** Of a failure that is told under another status than its own. */
export function toAnswerAt(status: number, reason: Reason): Answer {
  const [flat, problem] = ['', '.problem'].map((ending) => failureExamples[reason + ending]!.value as object);
  return {
    description: `\`${reason}\`: ${failureTable[reason].sentence}`,
    content: {
      'application/json': { schema: only(failureSchema, [reason]), example: { ...flat, status } },
      'application/problem+json': { schema: only(problemSchema, [reason]), example: { ...problem, status } },
    },
  };
}

const references = (group: readonly Reason[], ending = '') =>
  Object.fromEntries(group.map((reason) => [reason, { $ref: `#/components/examples/${reason}${ending}` }]));

/** The schema, with those failures only. */
const only = (schema: Schema, group: readonly Reason[]): Schema => ({
  allOf: [schema, { type: 'object', properties: { error: { ...text, enum: group } } }],
});

const flatContent = (group: readonly Reason[]) => ({
  'application/json': { schema: only(failureSchema, group), examples: references(group) },
  'application/problem+json': { schema: only(problemSchema, group), examples: references(group, '.problem') },
});

const pageContent = { 'text/html': { schema: text } };

const openAiContent = (group: readonly Reason[]) => ({
  'application/json': { schema: openAiFailureSchema, examples: references(group, '.openai') },
});
