// The documentation of a route: its entry in the OpenAPI document. Requests are validated by their parsers, not by these
// schemas.
import type { DescMethod } from '@bufbuild/protobuf';
import type { FastifyContextConfig, onRequestHookHandler } from 'fastify';
import { scopesOf } from '../../api.ts';
import type { Reason } from '../../platform/errors.ts';
import type { ReplyHeaderName } from './documented-headers.ts';

export type Schema = Readonly<Record<string, unknown>>;

export interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  description: string;
  schema: Schema;
  required?: boolean;
  example?: unknown;
}

/** The schema of a string: type, further constraints, description. */
export const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', ...more, description });

/** The schema of an object whose members are all required. */
export const objectSchema = (
  title: string,
  properties: Readonly<Record<string, Schema>>,
  description = '',
): Schema => ({
  title,
  ...(description && { description }),
  type: 'object',
  required: Object.keys(properties),
  properties,
});

/** The schema and the example of an object. Each row gives a member's schema and its value in the example. */
export function describeObject<Members extends Readonly<Record<string, readonly [Schema, unknown]>>>(
  title: string,
  members: Members,
  description = '',
) {
  const pick = (i: 0 | 1) => Object.fromEntries(Object.entries(members).map(([name, row]) => [name, row[i]]));
  const example = pick(1) as { readonly [Name in keyof Members]: Members[Name][1] };
  return { schema: objectSchema(title, pick(0) as Record<string, Schema>, description), example };
}

/** A path parameter for an id. `prefix` is the common prefix of such ids, if any. */
export const pathId = (description: string, example: string, prefix = ''): Parameter => ({
  in: 'path',
  name: 'id',
  description,
  schema: { type: 'string', ...(prefix && { pattern: `^${prefix}` }) },
  required: true,
  example,
});

export const requestHeader = (name: string, description: string, schema: Schema = { type: 'string' }): Parameter => ({
  in: 'header',
  name,
  description,
  schema,
});

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
  /** The content of the response by media type. */
  content?: Readonly<Record<string, Content>>;
}

/** A response with a JSON body. */
export const jsonAnswer = (description: string, schema: Schema, example: unknown, headers?: Answer['headers']) => ({
  description,
  ...(headers && { headers }),
  content: { 'application/json': { schema, example } },
});

export const tags = {
  Speech: 'Text to speech in one request: a link, the audio itself, or the audio while it is synthesized.',
  Streams: 'Speech as Server-Sent Events, with word timestamps; playback can start before synthesis ends.',
  Audio: 'Stored audio, each with its own URL.',
  Jobs: 'Long texts, spoken in the background into one file with chapter marks and a file for each chapter.',
  Voices: 'The available voices, custom voices, and clones of people who consent.',
  Lexicons: 'Pronunciations and replacements of words, for requests and for voices.',
  Models: 'Neural models that can be installed, with their languages, sizes and licences.',
  Keys: 'API keys, their scopes and limits, and their usage.',
  OpenAI: 'The voices for clients of OpenAI’s speech API.',
  Service: 'Health checks and metrics for operators.',
} as const;

export interface RouteDocs {
  id: string;
  tag: keyof typeof tags;
  summary: string;
  description?: string;
  /** The key needs one of these scopes. Absent if no key is needed. */
  scopes?: readonly string[];
  /** Whether the operation runs with the key of a ticket instead of a key in the request. */
  isOnBehalf?: true;
  /** Bearer credential that is accepted instead of a key in X-API-Key. */
  bearer?: 'token' | 'key';
  parameters?: readonly Parameter[];
  body?: RouteBody;
  /** Responses by status. */
  answers: Readonly<Record<number, Answer>>;
  /** Failures specific to this operation; the failures that all operations of its kind share are added. */
  failures: readonly Reason[];
  /** Whether failures have the form of OpenAI's error object. */
  isOpenAi?: true;
  /** Whether a browser gets failures as an HTML page. */
  isPage?: true;
}

/** The documentation with some members replaced. The others stay getters if they are. */
export const withDocs = (docs: RouteDocs, replaced: Partial<RouteDocs>): RouteDocs =>
  Object.create(docs, Object.getOwnPropertyDescriptors(replaced));

/** Whether the operation counts against the limits of a key. */
export const isForKey = ({ scopes, isOnBehalf }: RouteDocs): boolean => scopes !== undefined || isOnBehalf === true;

export interface RouteBody {
  schema?: Schema;
  examples: Readonly<Record<string, unknown>>;
  /** The fields of a form, accepted in addition to JSON or instead of JSON. */
  form?: { type: 'multipart/form-data' | 'application/x-www-form-urlencoded'; schema: Schema; example: Schema };
  /** The body is a file of one of these types. */
  file?: { types: readonly string[]; description: string; examples: Readonly<Record<string, string>> };
  isOptional?: true;
}

/** The id and the scopes of the operation of an RPC. */
export const documentOperation = (method: DescMethod) => ({ id: method.localName, scopes: scopesOf(method) });

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: RouteDocs;
    /** Largest body, if it is larger than usual. */
    bodyBytesMax?: number;
    /** Largest JSON body, if it may contain a text as long as a book. */
    jsonBytesMax?: number;
    /** Number of members and items in the JSON, if it is more than usual. */
    jsonValuesMax?: number;
  }
}

/** The options of a documented route; `onRequest` admits its caller. */
export function documented(
  operation: RouteDocs,
  onRequest?: onRequestHookHandler,
  more: Pick<FastifyContextConfig, 'bodyBytesMax' | 'jsonBytesMax' | 'jsonValuesMax'> = {},
) {
  return { config: { operation, ...more }, ...(onRequest && { onRequest }) };
}
