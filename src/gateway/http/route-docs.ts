// What a route does, for those who call it: from one Operation come its place in the OpenAPI document and the way its
// JSON is written. Requests are checked by the parsers of the house, and by nothing here.
import type { Reason } from '../../errors.ts';
import type { ReplyHeaderName } from './reply-headers.ts';

export type Schema = Readonly<Record<string, unknown>>;

export interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  description: string;
  schema: Schema;
  required?: boolean;
  example?: unknown;
}

export const queryParameter = (name: string, description: string, schema: Schema = { type: 'string' }): Parameter => ({
  in: 'query',
  name,
  description,
  schema,
});

export interface Content {
  schema: Schema;
  example?: unknown;
}

export interface Answer {
  description: string;
  headers?: readonly ReplyHeaderName[];
  /** By media type. */
  content?: Readonly<Record<string, Content>>;
}

export const tags = {
  Speech: 'Text to speech in one request: a link, the audio itself, or audio as it is made.',
  Streams: 'Speech as Server-Sent Events, for who wants to hear it before it is finished, with word times.',
  Audio: 'Audio that is kept and has an address.',
  Voices: 'Who can speak, and how people who consent are cloned.',
  Keys: 'Who may call: API keys, what they may do, and what was spoken with them.',
  OpenAI: 'The same voices for programs that were made for OpenAI’s interface.',
  Service: 'For those who operate it.',
} as const;

export interface RouteDocs {
  id: string;
  tag: keyof typeof tags;
  summary: string;
  description?: string;
  /** What the key must be good for: one of these. Absent where no key is needed. */
  scopes?: readonly string[];
  /** Whether it is for a key that is not shown: that of a ticket. */
  isOnBehalf?: true;
  /** What will do in place of a key in X-API-Key. */
  bearer?: 'token' | 'key';
  parameters?: readonly Parameter[];
  body?: RouteBody;
  /** By status. */
  answers: Readonly<Record<number, Answer>>;
  /** Those that are its own; what any operation of its kind may meet is added. */
  failures: readonly Reason[];
  /** Whether failures are OpenAI's error object. */
  isOpenAi?: true;
  /** Whether people in a browser are told failures by a page. */
  isPage?: true;
}

export interface RouteBody {
  schema?: Schema;
  examples: Readonly<Record<string, unknown>>;
  /** The fields of a form, in place of JSON or beside it. */
  form?: { type: 'multipart/form-data' | 'application/x-www-form-urlencoded'; schema: Schema; example: Schema };
  isOptional?: true;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: RouteDocs;
  }
}

/** The part of a route's options that an Operation decides. */
export function documented(operation: RouteDocs, more: { bodyBytesMax?: number } = {}) {
  const response: Record<string, Schema> = {};
  for (const [status, { content }] of Object.entries(operation.answers)) {
    const json = content?.['application/json'];
    if (json) response[status] = json.schema;
  }
  return { config: { operation, ...more }, schema: { response } };
}
