// Reads large requests in steps, before Connect would read them at once: Connect gets an empty message in place of each, and
// the interceptor puts the true one back. Whatever is compressed is decompressed here, so that its true size is known.
//     Connect, unary   the message                                                     application/json, application/proto
//     else             1 byte flags, 4 bytes length, the message                       application/grpc-web+proto, ...
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import {
  create,
  type DescMessage,
  type DescMethod,
  type JsonValue,
  type Message,
  mergeFromJson,
} from '@bufbuild/protobuf';
import { Code, ConnectError, type ContextKey, createContextKey } from '@connectrpc/connect';
import { Failure } from '../errors.ts';
import { countMembers, pieceBytes } from '../net/json-steps.ts';
import { jsonDepthMax } from '../net/limits.ts';
import type { BodyLimits } from '../net/request-body.ts';
import { readStrictJson } from '../net/strict-json.ts';
import { inSteps, type Steps } from '../runtime/steps.ts';
import { headBytes, isCompressedFlag, lengthOf, toEnvelope } from './envelope.ts';
import { checkMessage, readMessage } from './message-steps.ts';
import { fieldNamed, isOwn, keepKnown } from './unknown-members.ts';

/** What takes the place of the message that Connect has read. */
export const largeMessageKey: ContextKey<Message | undefined> = createContextKey<Message | undefined>(undefined, {
  description: 'large message',
});

export interface RequestLimits extends BodyLimits {
  /** Fields of its message, and of those in it; members and items in JSON. */
  valuesMax: number;
}

export interface RequestShape extends RequestLimits {
  method: DescMethod;
  isJson: boolean;
  isEnveloped: boolean;
  isCompressed: boolean;
}

const isLastFlag = 2;
const unzip = promisify(gunzip);

export function shapeOf(header: Headers, method: DescMethod, limits: RequestLimits): RequestShape {
  const type = (header.get('content-type') ?? '').toLowerCase();
  const isEnveloped = !/^application\/(json|proto)\b/.test(type);
  const names = isEnveloped ? ['grpc-encoding', 'connect-content-encoding'] : ['content-encoding'];
  const isCompressed = names.some((name) => header.get(name) === 'gzip');
  // It is decompressed before the library sees it.
  if (isCompressed && !isEnveloped) header.delete('content-encoding');
  return { method, isJson: /json/.test(type), isEnveloped, isCompressed, ...limits };
}

/** What the library is to read of the body, and the message if that is not it. */
export async function readLarge(body: Uint8Array, shape: RequestShape, ignored: string[]) {
  const { method, isEnveloped, isJson, valuesMax } = shape;
  const head = isEnveloped ? headOf(body) : { length: body.length, isCompressed: shape.isCompressed };
  // The library says what is wrong with it.
  if (!head || (head.isCompressed && !shape.isCompressed)) return { body };
  const given = isEnveloped ? body.subarray(headBytes, headBytes + head.length) : body;
  const bytes = head.isCompressed ? await decompress(given, shape) : given;
  if (bytes.length <= pieceBytes && !head.isCompressed) return { body };
  const after = isEnveloped ? body.subarray(headBytes + head.length) : nothing;
  if (after.length > 0)
    throw new ConnectError(
      `protocol error: received extra input message for ${method.methodKind} method`,
      Code.Unimplemented,
    );
  const steps = isJson
    ? readJsonMessage(method.input, bytes, { valuesMax, ignored })
    : readMessage(method.input, bytes, valuesMax);
  const message = await inSteps(steps);
  const empty = isJson ? Buffer.from('{}') : nothing;
  return { body: isEnveloped ? toEnvelope(empty) : empty, message };
}

/** Of a stream of requests: each is as it came, decompressed, and none has too many fields for the library. */
export async function* checkMessages(body: AsyncIterable<Uint8Array>, shape: RequestShape): AsyncGenerator<Uint8Array> {
  let chunks: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    held += chunk.length;
    while (held >= headBytes) {
      if (chunks[0]!.length < headBytes) chunks = [Buffer.concat(chunks)];
      const length = lengthOf(chunks[0]!);
      if (length > shape.bytesMax) throw tooLarge(shape);
      if (held < headBytes + length) break;
      const all = chunks.length > 1 ? Buffer.concat(chunks) : chunks[0]!;
      yield* checkOne(all.subarray(0, headBytes + length), shape);
      held -= headBytes + length;
      chunks = held > 0 ? [all.subarray(headBytes + length)] : [];
    }
  }
  // What is cut off is the library's to report.
  yield* chunks;
}

async function* checkOne(envelope: Uint8Array, shape: RequestShape): AsyncGenerator<Uint8Array> {
  const flags = envelope[0]!;
  const given = envelope.subarray(headBytes);
  const isCompressed = (flags & isCompressedFlag) !== 0 && shape.isCompressed;
  const bytes = isCompressed ? await decompress(given, shape) : given;
  if (bytes.length > pieceBytes && (flags & isLastFlag) === 0) await inSteps(check(bytes, shape));
  yield isCompressed ? toEnvelope(bytes, flags & ~isCompressedFlag) : envelope;
}

function* check(bytes: Uint8Array, { method, isJson, valuesMax }: RequestShape): Steps<void> {
  if (isJson) yield* countMembers(bytes, { depthMax: jsonDepthMax, valuesMax });
  else yield* checkMessage(method.input, bytes, valuesMax);
}

function* readJsonMessage(
  schema: DescMessage,
  bytes: Uint8Array,
  { valuesMax, ignored }: { valuesMax: number; ignored: string[] },
): Steps<Message> {
  const known = yield* keepKnown(yield* readStrictJson(bytes, { valuesMax }), schema, '', ignored);
  const message = create(schema);
  for (const piece of jsonPieces(known as JsonValue, schema)) {
    yield;
    try {
      mergeFromJson(schema, message, piece, { ignoreUnknownFields: false });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Failure('invalid_request', { message: reason }, error);
    }
  }
  return message;
}

/** Members that are not long together, with long lists in pieces: the library adds each to those before it. */
function* jsonPieces(value: JsonValue, schema: DescMessage): Generator<JsonValue> {
  if (!isJsonObject(value) || namesTwice(value, schema)) return yield value;
  const rest: Record<string, JsonValue> = {};
  const long: JsonValue[] = [];
  for (const [name, member] of Object.entries(value)) {
    const field = fieldNamed(schema, name);
    if (field?.fieldKind === 'list' && Array.isArray(member) && member.length > itemsPerPiece) {
      for (let i = 0; i < member.length; i += itemsPerPiece) long.push({ [name]: member.slice(i, i + itemsPerPiece) });
    } else if (field?.fieldKind === 'message' && isOwn(field.message) && isJsonObject(member)) {
      for (const piece of jsonPieces(member, field.message)) long.push({ [name]: piece });
    } else Object.defineProperty(rest, name, { value: member, enumerable: true });
  }
  yield rest;
  yield* long;
}

const itemsPerPiece = 200;

const isJsonObject = (value: JsonValue): value is { [name: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The library refuses that. */
const namesTwice = (value: object, schema: DescMessage): boolean => {
  const fields = Object.keys(value).flatMap((name) => fieldNamed(schema, name) ?? []);
  return new Set(fields).size < fields.length;
};

interface Head {
  length: number;
  isCompressed: boolean;
}

/** Undefined if the first message is not whole. */
function headOf(body: Uint8Array): Head | undefined {
  if (body.length < headBytes || body.length < headBytes + lengthOf(body)) return undefined;
  return { length: lengthOf(body), isCompressed: (body[0]! & isCompressedFlag) !== 0 };
}

const tooLarge = ({ bytesMax: limit }: RequestShape) => new Failure('payload_too_large', { limit });

async function decompress(bytes: Uint8Array, shape: RequestShape): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: shape.bytesMax });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(shape);
    throw new Failure('invalid_request', { message: 'The message is not compressed as it says.' }, error);
  }
}

const nothing = Buffer.alloc(0);
