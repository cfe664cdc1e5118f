// Serves the RPCs that have `google.api.http` over REST: decodes each request into the message of its RPC, calls the
// same handler as Connect, and encodes the response as JSON.
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf';
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { type Received, scopesOf } from '../../api.ts';
import {
  documentMethod,
  endpointsOf,
  enumNames,
  fieldOf,
  nameUnknown,
  Reading,
  readMembers,
  readQuery,
  restOptions,
  toViolation,
  type UnknownField,
  writeMessage,
} from '../../contract.ts';
import { Failure, failureTable } from '../../platform/errors.ts';
import { toFailureBody } from '../net/failure-reply.ts';
import { run, stream } from './admission.ts';
import { sendPieces } from './body-writer.ts';
import { addWithoutBody, fieldsOf, ignoredHeaders } from './request-fields.ts';
import { documented, type RouteDocs } from './route-docs.ts';
import type { RouteTools } from './route-tools.ts';
import { eventHeaders } from './synthesis/resumable-stream.ts';

type Endpoint = ReturnType<typeof endpointsOf>[number];

/** Exceptions for the routes of a service, by method name. */
interface Special<S extends DescService> {
  /** Methods with hand-written routes. */
  byHand?: readonly (keyof S['method'])[];
  /** Limits of request bodies that differ from the defaults. */
  limits?: { readonly [Name in keyof S['method']]?: Parameters<typeof documented>[2] };
}

/** Adds a route for each endpoint of a service. */
export function addContractRoutes<S extends DescService>(
  app: FastifyInstance,
  service: S,
  tools: RouteTools,
  { byHand = [], limits = {} }: Special<S> = {},
): void {
  for (const method of service.methods) {
    const name: keyof S['method'] = method.localName;
    if (byHand.includes(name)) continue;
    for (const endpoint of endpointsOf(method)) {
      const { docs, handle } = contractRoute(method, endpoint, tools);
      const route: RouteOptions = {
        method: endpoint.verb,
        // All routes use the same parameter name, so that one path in the documents has all its methods.
        url: endpoint.path.replace(/\{\w+\}/, ':id'),
        handler: handle,
        // A stream has no HEAD, because a request for it starts work.
        exposeHeadRoute: method.methodKind !== 'server_streaming',
        ...documented(docs, tools.admission.admitTo(method), limits[name]),
      };
      if (endpoint.verb === 'GET' || endpoint.body) app.route(route);
      else addWithoutBody(app, (scope) => void scope.route(route));
    }
  }
}

/** The parts of an endpoint's route, for use in a hand-written route. */
export function contractRoute(method: DescMethod, endpoint: Endpoint, { callRpc, isStrict, baseUrl }: RouteTools) {
  const isGuarded = restOptions.ofService(method.parent).guarded;
  const { nullResets } = restOptions.ofMethod(method);
  const read = createReader(method, endpoint, isStrict);
  const send = createSender(method, endpoint, baseUrl);
  const write = createEventWriter(method, endpoint);
  return {
    docs: documentMethod(method, endpoint, scopesOf(method)) as RouteDocs,
    /** Sends the result of the handler as JSON. */
    send,
    async handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
      const { message, reading, mask } = read(request);
      const { ignored, violations, given, emptyLists } = reading;
      // An empty list counts as absent, except in a guarded service, where the default might grant more than the empty
      // list.
      const values = isGuarded ? given : given.filter((path) => !emptyLists.includes(path));
      const cleared = nullResets ? reading.cleared : [];
      const received: Received = { violations, given: values, cleared, emptyLists, mask };
      try {
        if (method.methodKind === 'server_streaming') {
          const events = stream<object>(request, reply, method, (call) => callRpc(method, message, call, received));
          return await sendEvents(reply, toEventTexts(events, write, request.id));
        }
        const result = await run(request, reply, method, (call) => callRpc(method, message, call, received));
        return send(reply, result, ignored);
      } catch (error) {
        throw nameUnknown(error, [...ignored, ...(request.ignoredQuery ?? [])]);
      }
    },
  };
}

interface Read {
  message: Message;
  reading: Reading;
  /** The paths of the fields that an update contains. */
  mask: readonly string[] | undefined;
}

function createReader(method: DescMethod, { verb, inPath, body, file }: Endpoint, isStrictHere: boolean) {
  const { input } = method;
  const { optionalBody, nullResets } = restOptions.ofMethod(method);
  const isStrict = isStrictHere || restOptions.ofService(method.parent).guarded;
  const hasMask = input.fields.some(({ name }) => name === 'update_mask');
  const hasQuery = (verb === 'GET' && input.fields.length > inPath.length) || file !== undefined;
  const without = [...inPath, ...(file ? [file] : [])].map(({ name }) => name);
  const inHeaders = input.fields.filter((field) => restOptions.ofField(field).header !== '');

  return (request: FastifyRequest): Read => {
    const message = create(input);
    const fields = message as unknown as Record<string, unknown>;
    const reading = new Reading(isStrict);
    if (hasQuery) readQuery(message, input, request.query as Record<string, unknown>, reading, { without });
    if (hasQuery && isStrictHere) reading.violations.add((request.ignoredQuery ?? []).map(toViolation));
    for (const field of inHeaders) fields[field.localName] = headerOf(request, field);
    if (file) fields[file.localName] = request.body;
    else if (body) {
      const given = optionalBody && request.body === undefined ? {} : fieldsOf(request);
      const inBody = body === '*' ? input : body.message!;
      const target = body === '*' ? message : create(inBody);
      if (body !== '*') fields[body.localName] = target;
      readMembers(target, inBody, given, reading, { without });
    }
    for (const { localName } of inPath) fields[localName] = (request.params as { id: string }).id;
    if (!hasMask) return { message, reading, mask: undefined };
    const paths = nullResets ? [...reading.given, ...reading.cleared] : reading.given;
    const isEmpty = paths.length === 0 && reading.violations.details.length === 0;
    if (isEmpty) throw nameUnknown(nothingToChange(), reading.ignored);
    fields.updateMask = create(FieldMaskSchema, { paths });
    return { message, reading, mask: paths };
  };
}

/** Reads the header of a field. An invalid number counts as 0. */
function headerOf({ headers }: FastifyRequest, field: DescField): string | bigint {
  const value = headers[restOptions.ofField(field).header.toLowerCase()];
  const text = typeof value === 'string' ? value : '';
  if (field.scalar === ScalarType.STRING) return text;
  return /^\d{1,15}$/.test(text) ? BigInt(text) : 0n;
}

type WriteEvent = (event: Readonly<Record<string, any>>) => Buffer;

/**
 * Writes a streamed response as a Server-Sent Event. The event is named by the `event_type` field or, without one, by
 * the response field that is the body:
 *     id: 17     event: job.chapter.done     data: {"type":"job.chapter.done","chapter":2,"job":{...}}
 */
function createEventWriter({ output }: DescMethod, { responseBody }: Endpoint): WriteEvent {
  const id = output.fields.find((field) => restOptions.ofField(field).eventId);
  const typeField = output.fields.find((field) => restOptions.ofField(field).eventType);
  return (event) => {
    const type = typeField ? enumNames(typeField.enum!).toName(event[typeField.localName]) : responseBody?.name;
    const data = responseBody
      ? writeMessage(responseBody.message!, event[responseBody.localName])
      : { type, ...defined(writeMessage(output, event)) };
    const start = id ? `id: ${event[id.localName]}\n` : '';
    return Buffer.from(`${start}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  };
}

const defined = (members: object) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

/**
 * After the first event, a fatal failure is sent as an event without an id, because nothing can be resumed after it.
 */
async function* toEventTexts(
  events: AsyncIterable<object>,
  write: WriteEvent,
  requestId: string,
): AsyncGenerator<Buffer, undefined> {
  let isBegun = false;
  try {
    for await (const event of events) {
      yield write(event);
      isBegun = true;
    }
  } catch (error) {
    if (!isBegun || !(error instanceof Failure) || failureTable[error.reason].retryable) throw error;
    const { error: reason, message, status, request_id } = toFailureBody(error, requestId);
    const data = { type: 'error', error: reason, message, status, retryable: false, request_id };
    yield Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

/** Sends the events. If there are none, sends status 204, which stops a browser from reconnecting. */
async function sendEvents(reply: FastifyReply, texts: AsyncGenerator<Buffer, undefined>): Promise<FastifyReply> {
  const first = await texts.next();
  if (first.done) return reply.code(204).header('cache-control', 'no-store').send();
  await sendPieces(reply, eventHeaders, withFirst(first.value, texts));
  return reply;
}

async function* withFirst(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

function createSender(method: DescMethod, { responseBody }: Endpoint, baseUrl: () => string) {
  const { output, parent } = method;
  const { status, location, noStore, doneField } = restOptions.ofMethod(method);
  const isUncached = noStore || restOptions.ofService(parent).guarded;
  const desc = responseBody?.message ?? output;
  const done = doneField === '' ? undefined : fieldOf(desc, doneField).localName;
  const code = status || (location === '' ? 200 : 201);
  const headers = output.fields
    .map((field) => [restOptions.ofField(field).header, field.localName] as const)
    .filter(([name]) => name);
  return (
    reply: FastifyReply,
    result: Readonly<Record<string, any>>,
    ignored: readonly UnknownField[],
  ): FastifyReply => {
    reply.code(code).headers(ignoredHeaders(reply.request, ignored));
    if (isUncached) reply.header('cache-control', 'no-store');
    for (const [name, localName] of headers) reply.header(name, result[localName] ?? 0);
    if (code === 204) return reply.send();
    const value = responseBody ? result[responseBody.localName] : result;
    if (done !== undefined && value[done]) return reply.code(200).send(writeMessage(desc, value));
    if (location !== '') reply.header('Location', baseUrl() + fill(location, desc, value));
    return reply.send(writeMessage(desc, value));
  };
}

/** Fills the fields of a path template, such as "/api/voices/{voice_id}". */
const fill = (template: string, desc: DescMessage, value: Readonly<Record<string, any>>): string =>
  template.replace(/\{([\w.]+)\}/g, (_, path: string) => {
    let [at, of]: [any, DescMessage] = [value, desc];
    for (const name of path.split('.')) {
      const field = fieldOf(of, name);
      at = at[field.localName];
      of = field.message ?? of;
    }
    return encodeURIComponent(at);
  });

/** The failure for a body without any member that can be changed. */
const nothingToChange = () =>
  new Failure('invalid_request', { message: 'The body contains no field to change.', details: [] });
