// Checks requests before Connect parses them. A body with one message is read completely, within limits on size and
// time. Each message is decompressed and its fields are counted. Unknown JSON members are removed and reported in
// X-Ignored-Fields, or refused if the service is strict. Deadlines are shortened to the longest that a timer can hold.
// A refusal without a body gets a body.
//     Connect, unary   the message                                           application/json, application/proto
//     else             1 byte flags, 4 bytes length (big-endian), message    application/grpc, application/connect+json, ...
import { type DescField, type DescMessage, type DescMethod, type DescService, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
} from '@connectrpc/connect';
import {
  encodeEnvelope,
  envelopeDecompress,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { Health } from '../../../gen/health/v1/health_pb.ts';
import { BookService } from '../../../gen/sonant/v1/book_pb.ts';
import { JobService } from '../../../gen/sonant/v1/job_service_pb.ts';
import { LexiconService } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { ProvenanceService } from '../../../gen/sonant/v1/provenance_pb.ts';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { isObject, isOurs, toViolation, type UnknownField, unknownField, unknownFieldsMax } from '../../contract.ts';
import { Failure, toFailure } from '../../platform/errors.ts';
import {
  bodyArrivalMs,
  fileBytesMax,
  jobBytesMax,
  jobValuesMax,
  jsonDepthMax,
  lexiconRequestBytesMax,
  lexiconValuesMax,
  liveMessageBytesMax,
  requestBytesMax,
  requestValuesMax,
  uploadArrivalMs,
  uploadBytesMax,
} from '../../platform/net/request-limits.ts';
import { atOnce } from '../../platform/runtime/steps.ts';
import { toRequestId } from '../net/headers.ts';
import { type BodyLimits, type NodeRequest, readBody } from '../net/request-body.ts';
import { countMembers, parseStrictJson } from '../net/strict-json.ts';
import { toConnectError, toPlainAnswer } from './status.ts';

export type Handler = ConnectRouter['handlers'][number];

const headBytes = 5;
const isLastFlag = 2;
/** Bytes accepted in addition to the message, for its envelope. */
const slackBytes = 1024;
/** Largest request without a key. Such health and reflection requests contain only names. */
const openRequestBytesMax = 4 * 1024;
/** The longest deadline that a timer can hold. Longer deadlines are shortened. */
const deadlineMsMax = 2 ** 31 - 1;

export const addressKey: ContextKey<string> = createContextKey('', { description: 'address' });
export const connectionKey: ContextKey<object | undefined> = createContextKey(undefined, { description: 'connection' });
/** The members that were removed from the message of a call. */
export const ignoredMembersKey: ContextKey<readonly UnknownField[]> = createContextKey<readonly UnknownField[]>([], {
  description: 'ignored',
});
/** Node's request object, if any. Only a request with this object can be refused while its connection stays open. */
export const nodeRequestKey = createContextKey<NodeRequest | undefined>(undefined);

export const toContextValues = (request: NodeRequest, address: string): ContextValues =>
  createContextValues()
    .set(nodeRequestKey, request)
    .set(addressKey, address)
    .set(connectionKey, 'stream' in request ? request.stream.session : request.socket);

interface RequestLimits extends BodyLimits {
  /** Number of fields of the message, including nested ones; for JSON, members and items. */
  valuesMax: number;
}

/** Calls of these services need no key. */
export const openServices: readonly DescService[] = [Health, ServerReflection, ServerReflectionAlpha];

export function limitsOf(method: DescMethod): RequestLimits {
  const usual = { arrivalMs: bodyArrivalMs, bytesMax: requestBytesMax, valuesMax: requestValuesMax };
  const upload = { ...usual, bytesMax: uploadBytesMax, arrivalMs: uploadArrivalMs };
  if (method === JobService.method.createJob) return { ...upload, bytesMax: jobBytesMax, valuesMax: jobValuesMax };
  if (method === VoiceService.method.cloneVoice) return upload;
  if (method === BookService.method.readBook || method === ProvenanceService.method.inspectAudio)
    return { ...upload, bytesMax: fileBytesMax };
  if (method === SpeechService.method.liveSpeech) return { ...usual, bytesMax: liveMessageBytesMax };
  if (method.parent === LexiconService)
    return { ...usual, bytesMax: lexiconRequestBytesMax, valuesMax: lexiconValuesMax };
  return openServices.includes(method.parent) ? { ...usual, bytesMax: openRequestBytesMax } : usual;
}

export function boundHandler(handler: Handler, { isStrict }: { isStrict: boolean }): Handler {
  const { method } = handler;
  const limits = { ...limitsOf(method), slackBytes };
  const hasOneMessage = method.methodKind === 'unary' || method.methodKind === 'server_streaming';
  const guarded = async (call: UniversalServerRequest) => {
    const contextValues = call.contextValues ?? createContextValues();
    const ignored: UnknownField[] = [];
    contextValues.set(ignoredMembersKey, ignored);
    const { header } = call;
    const form = formOf(header);
    // Over HTTP/1.1, a client of reflection sends all its questions before it reads the answers, as gRPC-Web does.
    const isWhole = hasOneMessage || (openServices.includes(method.parent) && call.httpVersion.startsWith('1.'));
    const request = isWhole ? contextValues.get(nodeRequestKey) : undefined;
    const received = request ? readBody(request, limits) : (call.body as AsyncIterable<Uint8Array>);
    const check = (bytes: Uint8Array): Uint8Array => {
      // A field has at least one byte, so a short message cannot have too many fields.
      if (!form.isJson && bytes.length > limits.valuesMax) countFields(bytes, method.input, limits.valuesMax);
      if (!form.isJson) return bytes;
      if (hasOneMessage) return withoutUnknown(bytes, { method, valuesMax: limits.valuesMax, ignored, isStrict });
      atOnce(countMembers(bytes, { depthMax: jsonDepthMax, valuesMax: limits.valuesMax }));
      return bytes;
    };
    const body = checkMessages(received, form, { bytesMax: limits.bytesMax, check });
    // Connect would compare the Content-Length with the size after decompression.
    if (request) header.delete('content-length');
    shortenDeadline(header);
    // Connect refuses to stream in both directions below HTTP/2.
    const httpVersion = isWhole ? '2.0' : call.httpVersion;
    const answer = await handler({ ...call, httpVersion, body, contextValues, signal: toLeaving(call.signal) });
    return answer.status < 400 || answer.body ? answer : fillRefusal(answer, call, handler);
  };
  // A handler is a function with properties, which are copied.
  return Object.assign(guarded, { ...handler });
}

interface Form {
  isJson: boolean;
  isEnveloped: boolean;
  isCompressed: boolean;
  /** Whether a flag marks the last envelope. Only streams of the Connect protocol have this flag. */
  hasLast: boolean;
}

function formOf(header: Headers): Form {
  const given = header.get('content-type') ?? '';
  // Connect accepts a charset parameter of a JSON content type only if its value is unquoted.
  const type = given.replace(/;\s*charset\s*=\s*"(utf-?8)"\s*$/i, '; charset=$1');
  if (type !== given) header.set('content-type', type);
  const isEnveloped = !/^application\/(json|proto)\b/i.test(type);
  const names = isEnveloped ? ['grpc-encoding', 'connect-content-encoding'] : ['content-encoding'];
  const isCompressed = names.some((name) => header.get(name) === 'gzip');
  // The body that Connect reads is already decompressed.
  if (isCompressed && !isEnveloped) header.delete('content-encoding');
  const hasLast = /^application\/connect\+/i.test(type);
  return { isJson: /json/i.test(type), isEnveloped, isCompressed, hasLast };
}

interface MessageCheck {
  bytesMax: number;
  /** Returns the message that Connect parses. */
  check(message: Uint8Array): Uint8Array;
}

/**
 * Yields the body with each message decompressed and checked. Connect reports an error thrown by a body only if the
 * error is a ConnectError.
 */
async function* checkMessages(
  body: AsyncIterable<Uint8Array>,
  form: Form,
  { bytesMax, check }: MessageCheck,
): AsyncGenerator<Uint8Array> {
  try {
    if (form.isEnveloped) yield* checkEnvelopes(body, form, { bytesMax, check });
    else
      for await (const bytes of body)
        yield check(form.isCompressed ? await compressionGzip.decompress(bytes, bytesMax) : bytes);
  } catch (error) {
    throw error instanceof ConnectError ? error : toConnectError(toFailure(error));
  }
}

/** Replaces Connect's own function, which takes quadratic time for a message in many pieces. */
async function* checkEnvelopes(
  body: AsyncIterable<Uint8Array>,
  { isCompressed, hasLast }: Form,
  { bytesMax, check }: MessageCheck,
): AsyncGenerator<Uint8Array> {
  const compression = isCompressed ? compressionGzip : null;
  let chunks: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    held += chunk.length;
    while (held >= headBytes) {
      if (chunks[0]!.length < headBytes) chunks = [Buffer.concat(chunks)];
      const first = chunks[0]!;
      const length = Buffer.from(first.buffer, first.byteOffset, headBytes).readUInt32BE(1);
      if (length > bytesMax) throw new Failure('payload_too_large', { limit: bytesMax });
      const end = headBytes + length;
      if (held < end) break;
      const all = chunks.length > 1 ? Buffer.concat(chunks) : first;
      const given = { flags: all[0]!, data: all.subarray(headBytes, end) };
      const { flags, data } = await envelopeDecompress(given, compression, bytesMax);
      // Connect rejects the end-of-stream message in a request.
      yield encodeEnvelope(flags, hasLast && (flags & isLastFlag) !== 0 ? data : check(data));
      held -= end;
      chunks = held > 0 ? [all.subarray(end)] : [];
    }
  }
  // Connect itself reports a truncated message.
  yield* chunks;
}

/**
 * Throws if the message has more than `left` fields, including nested ones, because parsing unknown fields costs 0.15 s
 * per MiB. A field with the wrong encoding is refused, because Connect would read its content as more fields.
 */
function countFields(bytes: Uint8Array, schema: DescMessage | undefined, left: number): number {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [no, type] = reader.tag();
      const hasLength = type === WireType.LengthDelimited;
      const field = schema?.fields.find(({ number }) => number === no);
      const isPacked = hasLength && field !== undefined && isNumeric(field);
      if (field && type !== wireTypeOf(field) && !isPacked) throw malformed();
      const value = hasLength ? reader.bytes() : nothing;
      // The fields of a group follow and are counted like the fields of the message.
      if (!hasLength && type !== WireType.StartGroup && type !== WireType.EndGroup) reader.skip(type);
      left -= isPacked ? Math.max(1, value.length) : 1;
      if (left < 0) throw new Failure('invalid_request', { message: 'The message has too many fields.' });
      if (field?.fieldKind === 'map') left = countFields(value, undefined, left);
      else if (field?.message) left = countFields(value, field.message, left);
    }
  } catch (error) {
    throw error instanceof Failure ? error : malformed(error);
  }
  return left;
}

const nothing = new Uint8Array();

const malformed = (cause?: unknown) =>
  new Failure(
    'invalid_request',
    { message: 'The service cannot parse binary data that is not a message of this method.' },
    cause,
  );

function wireTypeOf(field: DescField): WireType {
  switch (field.enum ? ScalarType.INT32 : field.scalar) {
    case undefined:
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

/** Whether many values may be packed into one field. */
const isNumeric = (field: DescField): boolean =>
  field.fieldKind === 'list' &&
  (field.listKind === 'enum' ||
    (field.listKind === 'scalar' && field.scalar !== ScalarType.STRING && field.scalar !== ScalarType.BYTES));

interface JsonCheck {
  method: DescMethod;
  valuesMax: number;
  ignored: UnknownField[];
  isStrict: boolean;
}

/** The message in strict JSON, as REST accepts it. Unknown members are removed and added to `ignored`. */
function withoutUnknown(bytes: Uint8Array, { method, valuesMax, ignored, isStrict }: JsonCheck): Uint8Array {
  const known = keepKnown(parseStrictJson(bytes, { valuesMax }), method.input, { prefix: '', ignored });
  if (ignored.length === 0) return bytes;
  if (isStrict) throw new Failure('invalid_request', { details: ignored.slice(0, unknownFieldsMax).map(toViolation) });
  return Buffer.from(JSON.stringify(known));
}

/**
 * Removes unknown members. Unknown enum values are kept so that Connect refuses them. Connect's option to ignore
 * unknown fields would also ignore such values.
 */
function keepKnown(value: unknown, schema: DescMessage, to: { prefix: string; ignored: UnknownField[] }): unknown {
  // Types of other packages, such as Timestamp, have a special form in JSON.
  if (!isOurs(schema) || !isObject(value)) return value;
  const kept: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    const field = fieldNamed(schema, name);
    const inner = field?.fieldKind === 'map' ? undefined : field?.message;
    const keep = (item: unknown, path: string) =>
      inner ? keepKnown(item, inner, { ...to, prefix: `${to.prefix}${path}.` }) : item;
    if (!field) to.ignored.push(unknownField(name, namesOf(schema), to.prefix));
    else if (!Array.isArray(member)) kept.push([name, keep(member, name)]);
    else kept.push([name, inner ? member.map((item, i) => keep(item, `${name}[${i}]`)) : member]);
  }
  return Object.fromEntries(kept);
}

const fieldNamed = ({ fields }: DescMessage, name: string): DescField | undefined =>
  fields.find(({ jsonName, name: own }) => name === jsonName || name === own);

const namesOf = ({ fields }: DescMessage) => fields.map(({ name }) => name);

/** Adds a body to a refusal. Connect answers a request in an unknown protocol with a status but no body. */
function fillRefusal(
  { status, header }: UniversalServerResponse,
  call: UniversalServerRequest,
  { allowedMethods }: Handler,
): UniversalServerResponse {
  const requestId = toRequestId(call.header.get('x-request-id'));
  const recipient = { requestId, accept: call.header.get('accept') ?? undefined };
  if (status === 405) {
    const allow = allowedMethods.join(', ');
    return toPlainAnswer(new Failure('method_not_allowed'), recipient, status, { allow });
  }
  if (status === 415) return toPlainAnswer(new Failure('unsupported_media_type'), recipient, status);
  const message = 'This method streams in both directions, which needs HTTP/2.';
  return toPlainAnswer(new Failure('invalid_request', status === 505 ? { message } : {}), recipient, status, header);
}

/** The error that all disconnected calls share. It is created on first use, because a ConnectError loads Headers. */
let disconnected: ConnectError | undefined;

/** Returns a signal that aborts when `closed` does, always with the reason that the client has disconnected. */
function toLeaving(closed: AbortSignal): AbortSignal {
  const left = new AbortController();
  disconnected ??= new ConnectError('the caller has left', Code.Canceled);
  const leave = () => left.abort(disconnected);
  if (closed.aborted) leave();
  else closed.addEventListener('abort', leave, { once: true });
  return left.signal;
}

/** Shortens a deadline that exceeds the maximum of a timer, because such a timer would fire at once. */
function shortenDeadline(headers: Headers): void {
  const millisecondsOf: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000 };
  const [, count, unit] = /^(\d{1,8})([HMS])$/.exec(headers.get('grpc-timeout') ?? '') ?? [];
  if (unit && Number(count) * millisecondsOf[unit]! > deadlineMsMax)
    headers.set('grpc-timeout', `${Math.floor(deadlineMsMax / 1000)}S`);
  const connectMs = headers.get('connect-timeout-ms');
  if (connectMs !== null && /^\d{1,10}$/.test(connectMs) && Number(connectMs) > deadlineMsMax)
    headers.set('connect-timeout-ms', String(deadlineMsMax));
}
