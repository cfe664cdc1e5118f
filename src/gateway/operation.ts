// What a route does, for those who call it: from one Operation come its place in the OpenAPI document and the way its
// JSON is written. Requests are checked by the parsers of the house, and by nothing here.
import type { Reason } from '../errors.ts';
import type { ReplyHeaderName } from './reply-headers.ts';

export type Schema = Readonly<Record<string, unknown>>;

export interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  description: string;
  schema: Schema;
  required?: boolean;
}

export const queryParameter = (name: string, description: string, schema: Schema = { type: 'string' }): Parameter => ({
  in: 'query',
  name,
  description,
  schema,
});

interface Content {
  schema: Schema;
  example?: unknown;
}

export interface Answer {
  description: string;
  headers?: readonly ReplyHeaderName[];
  /** By media type. */
  content?: Readonly<Record<string, Content>>;
}

export interface Operation {
  id: string;
  tag: 'Speech' | 'Streams' | 'Audio' | 'Voices' | 'Keys' | 'OpenAI' | 'Service';
  summary: string;
  description?: string;
  /** What the key must be good for: one of these. Absent where no key is needed. */
  scopes?: readonly string[];
  parameters?: readonly Parameter[];
  body?: { schema: Schema; examples: Readonly<Record<string, unknown>>; form?: Schema };
  /** By status. */
  answers: Readonly<Record<number, Answer>>;
  failures: readonly Reason[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

/** The part of a route's options that an Operation decides. */
export function documented(operation: Operation, more: { bodyBytesMax?: number } = {}) {
  const response: Record<string, Schema> = {};
  for (const [status, { content }] of Object.entries(operation.answers)) {
    const json = content?.['application/json'];
    if (json) response[status] = json.schema;
  }
  return { config: { operation, ...more }, schema: { response } };
}
