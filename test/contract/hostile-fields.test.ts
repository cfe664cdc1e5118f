// Sends hostile values in every field of every route: no input may cause an internal error, remain unanswered, or be
// logged as a bug. The fields come from the contract (OpenAPI, the protos, the MCP tools), so that a new route is
// covered by itself. A route outside the contract fails the test until `vendorRequests` has a valid request for it.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { type DescMessage, type DescMethod, ScalarType } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { LiveSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { failureTable } from '../../src/platform/errors.ts';
import { openFuzzedService } from '../fuzz/api-targets.ts';
import { hostileHeaders, hostileJson, hostileTexts, pathsIn, pathsOf, putJson } from '../fuzz/hostile-values.ts';
import { envelope } from '../transports/rpc/raw-grpc.ts';
import { sonantServices } from '../transports/rpc/sonant-services.ts';

let service: Awaited<ReturnType<typeof openFuzzedService>>;
const routes: { method: string; url: string }[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const counts = { requests: 0, honest: 0, faults: 0 };

const onApp = (message: unknown) =>
  void (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, url });
  });

beforeAll(async () => {
  subscribe('fastify.initialization', onApp);
  service = await openFuzzedService();
  unsubscribe('fastify.initialization', onApp);
});
afterAll(async () => {
  agent.destroy();
  await service.close();
  console.log(
    `hostile fields: ${counts.requests} requests; documented 503: ${counts.honest}; other 5xx: ${counts.faults}`,
  );
});

interface Sent {
  method: string;
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
}

interface Answer {
  status: number;
  text: string;
}

function ask({ method, path, headers, body }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL(service.url);
    const sent = request({ host: url.hostname, port: url.port, agent, method, path, headers, setHost: true });
    sent.setTimeout(answerMsMax, () => sent.destroy(new Error('no answer')));
    sent.on('error', reject);
    sent.on('response', (reply) => {
      const pieces: Buffer[] = [];
      reply.on('data', (piece) => pieces.push(piece));
      reply.on('error', reject);
      reply.on('end', () => resolve({ status: reply.statusCode!, text: Buffer.concat(pieces).toString('latin1') }));
    });
    sent.end(body);
  });
}

const answerMsMax = 30_000;
/** Failures that are honest whatever the input, such as an engine that is not there. */
const honest = new Set(
  Object.entries(failureTable).flatMap(([reason, { status }]) => (status === 503 ? [reason] : [])),
);

/** Describes a fault in the answer, or returns undefined. */
function faultOf({ status, text }: Answer): string | undefined {
  if (/"(error|code|status|error_code)":"internal_error"|-32603|Internal Server Error/.test(text))
    return `${status} ${text}`;
  if (status < 500) return undefined;
  const [reason] =
    /\b[a-z]+(_[a-z]+)+\b|\boverloaded\b/.exec(text.replaceAll(/"(error|code|detail|status|error_code)"/g, '')) ?? [];
  if (status !== 503 || !honest.has(reason ?? '')) return `${status} ${text}`;
  counts.honest++;
  return undefined;
}

const faults = new Map<string, string>();

type Case = [place: string, run: () => Promise<string | undefined>];

/** Runs the cases, several at once, and reports one fault for each place. */
async function sendAll(all: readonly Case[]): Promise<void> {
  const pending = all.values();
  const work = async () => {
    for (let next = pending.next(); !next.done; next = pending.next()) {
      const [place, run] = next.value;
      counts.requests++;
      const fault = await run().catch((error: Error) => error.message);
      if (fault === undefined) continue;
      counts.faults++;
      if (!faults.has(place)) faults.set(place, fault.slice(0, 300));
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  await service.check().catch((error: Error) => faults.set(`${all[0]![0]}: log`, error.message));
}

afterEach(() => {
  const found = Object.fromEntries(faults);
  faults.clear();
  expect(found).toEqual({});
});

async function exchange(sent: Sent): Promise<string | undefined> {
  const answer = await ask(sent);
  // The documents describe the failure.
  if (answer.status === 200 && /^\/(docs|openapi)/.test(sent.path)) return undefined;
  const fault = faultOf(answer);
  return fault && `${sent.path.slice(0, 100)} ${String(sent.body).slice(0, 200)}: ${fault}`;
}

interface Documented {
  parameters?: readonly { in: string; name: string }[];
  requestBody?: { content: Readonly<Record<string, any>> };
}

type OpenApiPaths = Readonly<Record<string, Readonly<Record<string, Documented>>>>;

/** Headers that the service reads on all routes or on some. */
const usualHeaders = [
  ...'accept accept-language origin cookie x-request-id traceparent tracestate idempotency-key'.split(' '),
  ...'cache-control last-event-id range if-range if-match if-none-match x-forwarded-for forwarded'.split(' '),
  ...'user-agent sec-websocket-protocol sec-websocket-key sec-websocket-version mcp-method mcp-name'.split(' '),
  ...'access-control-request-headers access-control-request-method mcp-protocol-version cartesia-version'.split(' '),
];
/** Headers without which a request is refused early, so that they are sent one at a time. */
const gateHeaders = ['x-api-key', 'authorization', 'xi-api-key', 'content-type', 'content-encoding', 'expect', 'host'];

type Body = [where: string, type: string, body: string];

interface RouteFields {
  query: readonly string[];
  headers: readonly string[];
  /** The first body is valid. */
  bodies: readonly Body[];
}

/** Requests with hostile values in the path, the query, the headers and the body. */
function* hostileRequests(
  method: string,
  path: string,
  { query, headers, bodies }: RouteFields,
  key: string,
): Generator<[place: string, sent: Sent]> {
  const fill = (text: string) => path.replace(/\{\w+\}|:\w+/, text).replaceAll(/\{\w+\}|:\w+/g, 'tone-low');
  const [, type = 'application/json', body = ''] = bodies[0] ?? [];
  const usual = { 'x-api-key': key, ...(bodies.length > 0 && { 'content-type': type }) };
  const send = (place: string, more: Partial<Sent>): [string, Sent] => [
    `${method} ${path} ${place}`,
    { method, path: fill('tone-low'), headers: usual, body, ...more },
  ];
  if (/[{:]/.test(path)) for (const text of hostileTexts) yield send('path', { path: fill(text) });
  for (const name of ['__proto__', 'constructor', 'toString'])
    yield send(`?${name}`, { path: `${fill('tone-low')}?${name}=1` });
  for (const name of query) {
    const texts = hostileTexts.map((text) => `${name}=${text}`);
    for (const given of [...texts, name, `${name}=1&${name}=2`, `${name}[a]=1`, `${name}[toString]=1`])
      yield send(`?${name}`, { path: `${fill('tone-low')}?${given}` });
  }
  const isExample = path === '/api/audio/speech' || path === '/api/voices';
  for (const text of hostileHeaders) {
    const all = Object.fromEntries(usualHeaders.map((name) => [name, text.slice(0, 200)]));
    yield send('headers', { headers: { ...usual, ...all } });
    for (const name of [...headers, ...(isExample ? [...gateHeaders, ...usualHeaders] : [])])
      yield send(name.toLowerCase(), { headers: { ...usual, [name.toLowerCase()]: text } });
  }
  for (const [where, contentType, given] of bodies)
    yield send(where, { headers: { ...usual, 'content-type': contentType }, body: given });
}

/** Sends the requests of one route. A request may revoke its own key, so every route has another key. */
async function checkRoute(method: string, path: string, fields: RouteFields): Promise<void> {
  const all = hostileRequests(method, path, fields, await service.makeKey());
  await sendAll(Array.from(all, ([place, sent]): Case => [place, () => exchange(sent)]));
}

const jsonBodies = (example: unknown, paths: readonly (string | number)[][]): Body[] => [
  ['example', 'application/json', JSON.stringify(example)],
  ...paths.flatMap((path, n) =>
    hostileJson(n).map((value): Body => [path.join('.'), 'application/json', putJson(example, path, value)]),
  ),
];

function formBody(fields: Readonly<Record<string, unknown>>): string {
  const toPart = ([name, value]: [string, unknown]) => {
    const file = /audio/.test(name) ? '; filename="a.wav"' : '';
    return `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  };
  return `${Object.entries(fields).map(toPart).join('')}--b--\r\n`;
}

/** Bodies of a documented operation. The voice of an example is replaced by one that this service has. */
function bodiesOf({ requestBody }: Documented, resolve: (ref: string) => object): Body[] {
  return Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema, example, examples = {} }]): Body[] => {
    const values = Object.values(examples as Record<string, { value: unknown }>).map(({ value }) => value);
    const given = JSON.stringify([example, ...values].filter((each) => typeof each === 'object'));
    const [valid = {}, ...more] = JSON.parse(given.replaceAll(/"(clara|nova|alloy)"/g, '"tone-low"'));
    const paths = pathsOf(schema, resolve);
    if (type === 'application/json')
      return [...jsonBodies(valid, paths), ...more.flatMap((each: unknown) => jsonBodies(each, pathsIn(each)))];
    const names = paths.flatMap(([name]) => (name === undefined ? [] : [`${name}`]));
    if (type === 'application/x-www-form-urlencoded') {
      const usual = `${new URLSearchParams(valid)}`;
      return names.flatMap((name) => hostileTexts.map((text): Body => [name, type, `${usual}&${name}=${text}`]));
    }
    if (type !== 'multipart/form-data') return hostileJson(0).map((text): Body => ['body', type, text]);
    const toBody =
      (name: string) =>
      (text: string): Body => [name, `${type}; boundary=b`, formBody({ ...valid, [name]: text })];
    return names.flatMap((name, n) => hostileJson(n).map(toBody(name)));
  });
}

async function readDocument() {
  const { text } = await ask({ method: 'GET', path: '/openapi.json' });
  return JSON.parse(text) as { paths: OpenApiPaths; components: { schemas: Readonly<Record<string, object>> } };
}

test('no value in a documented field causes a 5xx over REST', { timeout: 600_000 }, async () => {
  const { paths, components } = await readDocument();
  const resolve = (ref: string) => components.schemas[ref.split('/').at(-1)!]!;
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const named = (place: string) =>
        (operation.parameters ?? []).flatMap((each) => (each.in === place ? [each.name] : []));
      const bodies = bodiesOf(operation, resolve);
      await checkRoute(method.toUpperCase(), path, { query: named('query'), headers: named('header'), bodies });
    }
  }
});

const elevenLabsSpeech = {
  query: ['output_format', 'language_code', 'seed', 'xi-api-key', 'api_key'],
  body: {
    ...{ text: 'Hi.', language_code: 'en', output_format: 'pcm_24000', seed: 1, model_id: 'x', 'xi-api-key': '' },
    voice_settings: { speed: 1, stability: 1 },
  },
};
const elevenLabsDialogue = {
  query: elevenLabsSpeech.query,
  body: {
    inputs: [{ text: 'Hi.', voice_id: 'tone-low' }],
    pronunciation_dictionary_locators: [{ pronunciation_dictionary_id: 'a', version_id: 'b' }],
    ...{ model_id: 'x', language_code: 'en', seed: 1, apply_text_normalization: 'auto', settings: { stability: 1 } },
  },
};
const cartesiaSpeech = {
  ...{
    model_id: 'sonic-3',
    transcript: 'Hi.',
    context_id: 'a',
    language: 'en',
    locale: 'en',
    max_buffer_delay_ms: 100,
  },
  ...{
    add_timestamps: true,
    speed: 'slow',
    voice: { mode: 'id', id: 'tone-low', __experimental_controls: { speed: 0.5 } },
  },
  output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 },
  generation_config: { speed: 1, emotion: 'calm' },
};
const toolCall = (name: string, args: unknown) => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: {} } },
});

/** The routes outside the OpenAPI document: their query parameters, and a valid body with all members. */
const vendorRequests: Readonly<Record<string, { query?: readonly string[]; body?: unknown }>> = {
  'POST /v1/text-to-speech/:voiceId': elevenLabsSpeech,
  'POST /v1/text-to-speech/:voiceId/stream': elevenLabsSpeech,
  'POST /v1/text-to-speech/:voiceId/with-timestamps': elevenLabsSpeech,
  'POST /v1/text-to-speech/:voiceId/stream/with-timestamps': elevenLabsSpeech,
  'GET /v1/text-to-speech/:voiceId/stream-input': {
    query: ['auto_mode', 'inactivity_timeout', 'sync_alignment', 'seed'],
  },
  'GET /v1/text-to-speech/:voiceId/multi-stream-input': {
    query: ['output_format', 'language_code', 'inactivity_timeout'],
  },
  'POST /v1/text-to-dialogue': elevenLabsDialogue,
  'POST /v1/text-to-dialogue/stream': elevenLabsDialogue,
  'POST /v1/text-to-dialogue/with-timestamps': elevenLabsDialogue,
  'POST /v1/text-to-dialogue/stream/with-timestamps': elevenLabsDialogue,
  'GET /v1/text-to-dialogue/stream-input': { query: ['output_format', 'inactivity_timeout', 'sync_alignment'] },
  'GET /v1/text-to-dialogue/multi-stream-input': { query: ['output_format', 'language_code', 'sync_alignment'] },
  'GET /v1/pronunciation-dictionaries': { query: ['page_size', 'cursor'] },
  'GET /v1/pronunciation-dictionaries/:id': {},
  'POST /v1/pronunciation-dictionaries/add-from-rules': {
    body: {
      ...{ name: 'Names', description: 'a' },
      rules: [{ type: 'alias', string_to_replace: 'UN', alias: 'United Nations', case_sensitive: true }],
    },
  },
  'POST /v1/pronunciation-dictionaries/add-from-file': { body: { name: 'Names', description: 'a' } },
  'POST /access-token': { body: { grants: { tts: true }, expires_in: 60 } },
  'PATCH /voices/:id': { body: { name: 'Ann', description: 'a', gender: 'feminine' } },
  'DELETE /voices/:id': {},
  'GET /v1/user': {},
  'GET /v1/user/subscription': {},
  'POST /v1/single-use-token/tts_websocket': {},
  'GET /v1/voices': {},
  'GET /v2/voices': { query: ['page_size', 'search', 'next_page_token'] },
  'GET /v1/voices/:voiceId': {},
  'GET /v1/voices/:voiceId/settings': {},
  'GET /v1/voices/settings/default': {},
  'POST /tts/bytes': { body: cartesiaSpeech },
  'POST /tts/sse': { body: cartesiaSpeech },
  'GET /tts/websocket': { query: ['api_key', 'cartesia_version'] },
  'GET /voices': { query: ['limit', 'q', 'language', 'starting_after', 'gender', 'api_key'] },
  'GET /voices/:id': {},
  'POST /mcp': { body: toolCall('list_voices', {}) },
  'GET /': {},
  'GET /console': {},
  'GET /console/': {},
  'GET /console/:file': {},
  'GET /docs': {},
  'GET /docs/': {},
  'GET /docs/:file': {},
  'GET /openapi.json': {},
  'GET /oauth/callback': { query: ['code', 'state', 'error', 'error_description', 'iss'] },
  'GET /oauth/session': {},
  'POST /oauth/sign-out': { body: { csrf: 'a' } },
};

/** Routes that answer 501 to every request. */
const unsupported = ['POST /voices/clone', 'POST /voices/localize'];

test('no value in a field of another vendor’s API causes a 5xx', { timeout: 600_000 }, async () => {
  const { paths } = await readDocument();
  const isDocumented = (url: string, method: string) =>
    paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] !== undefined;
  const isRpc = (url: string) => /^\/[\w.]+\.[A-Z]\w+\/[A-Z]\w+$/.test(url);
  const others = routes.filter(
    ({ method, url }) => !isRpc(url) && !['HEAD', 'OPTIONS'].includes(method) && !isDocumented(url, method),
  );
  expect(new Set(others.map(({ method, url }) => `${method} ${url}`))).toEqual(
    new Set([...Object.keys(vendorRequests), ...unsupported]),
  );
  for (const [route, { query = [], body }] of Object.entries(vendorRequests)) {
    const [method = '', path = ''] = route.split(' ');
    await checkRoute(method, path, {
      query,
      headers: [],
      bodies: body === undefined ? [] : jsonBodies(body, pathsIn(body)),
    });
  }
});

test('no value in an argument of an MCP tool causes an internal error', { timeout: 600_000 }, async () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const headers = { 'x-api-key': service.key, 'content-type': 'application/json' };
  const { text } = await ask({ method: 'POST', path: '/mcp', headers, body: JSON.stringify(list) });
  const { tools } = JSON.parse(text).result as { tools: { name: string; inputSchema: object }[] };
  const usual = { voice_id: 'tone-low', text: 'Hi.' };
  for (const { name, inputSchema } of tools) {
    const paths = pathsOf(inputSchema, () => ({})).map((path) => ['params', 'arguments', ...path]);
    const call = toolCall(name, usual);
    const bodies = [...jsonBodies(call, paths), ...jsonBodies({ ...call, method: 'initialize' }, pathsIn(call))];
    await checkRoute('POST', '/mcp', { query: [], headers: [], bodies });
  }
});

const methods = sonantServices.flatMap((each) => each.methods);
const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;

/** A request that is valid as far as the names of the fields tell. */
const usualFields: Readonly<Record<string, unknown>> = { voiceId: 'tone-low', text: 'Hi.', chunks: ['Hi.'], name: 'a' };
const exampleOf = ({ fields }: DescMessage) =>
  Object.fromEntries(
    fields.flatMap(({ jsonName, fieldKind }) => {
      const value =
        fieldKind === 'list' && typeof usualFields[jsonName] === 'string'
          ? [usualFields[jsonName]]
          : usualFields[jsonName];
      return value === undefined ? [] : [[jsonName, value]];
    }),
  );

/** Paths to all fields of a message, by their names in JSON. */
function jsonPathsOf({ fields }: DescMessage, depth = 0): (string | number)[][] {
  const names = fields.flatMap((field): (string | number)[][] => {
    const step = field.fieldKind === 'list' ? [0] : field.fieldKind === 'map' ? ['title'] : [];
    const inner = field.message && depth < 3 ? jsonPathsOf(field.message, depth + 1) : [[]];
    return [[field.jsonName], ...inner.map((path) => [field.jsonName, ...step, ...path])];
  });
  return [[], ...names, ['__proto__'], ['constructor'], ['toString']];
}

test('no value in a field of a message causes an internal error over Connect', { timeout: 600_000 }, async () => {
  for (const method of methods) {
    const key = await service.makeKey();
    const isUnary = method.methodKind === 'unary';
    const example = exampleOf(method.input);
    const bodies = jsonPathsOf(method.input).flatMap((path, i) =>
      hostileJson(i).map((value) => [path.join('.'), putJson(example, path, value)] as const),
    );
    const headers = { 'x-api-key': key, 'content-type': isUnary ? 'application/json' : 'application/connect+json' };
    await sendAll(
      bodies.map(([where, body]): Case => {
        const sent = {
          method: 'POST',
          path: pathOf(method),
          headers,
          body: isUnary ? body : envelope(Buffer.from(body)),
        };
        return [`${pathOf(method)} ${where}`, () => exchangeRpc(sent)];
      }),
    );
  }
});

/** LiveSpeech needs HTTP/2, and says so with 505. */
async function exchangeRpc(sent: Sent): Promise<string | undefined> {
  const answer = await ask(sent);
  if (answer.status === 505 && sent.path.endsWith('/LiveSpeech')) return undefined;
  if (!/"code":"(internal|unknown|data_loss)"/.test(answer.text)) return faultOf(answer);
  return `${String(sent.body).slice(0, 200)}: ${answer.text}`;
}

/** Values of a protobuf field, in each wire type. */
const wireValues: readonly ((writer: BinaryWriter, number: number) => BinaryWriter)[] = [
  ...[0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n].map(
    (value) => (writer: BinaryWriter, number: number) => writer.tag(number, WireType.Varint).uint64(value),
  ),
  ...[0, -1, Number.NaN, Infinity, -Infinity, 1e308].flatMap((value) => [
    (writer: BinaryWriter, number: number) => writer.tag(number, WireType.Bit64).double(value),
    (writer: BinaryWriter, number: number) => writer.tag(number, WireType.Bit32).float(Math.fround(value)),
  ]),
  ...['', ' ', 'NaN', 'Infinity', '\0', '__proto__', 'constructor', 'toString', '\u202e', 'x'.repeat(30_000)].map(
    (text) => (writer: BinaryWriter, number: number) => writer.tag(number, WireType.LengthDelimited).string(text),
  ),
  ...['ff', 'eda080', '0a', '0aff', '08ffffffffffffffffff01', '0a0b5f5f70726f746f5f5f', '1b1c', '00'.repeat(300)].map(
    (hex) => (writer: BinaryWriter, number: number) =>
      writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(hex, 'hex')),
  ),
  (writer, number) => writer.tag(number, WireType.StartGroup),
];

/** Messages with a hostile value in one field, also in the messages inside. */
function* wireMessages({ fields }: DescMessage, depth = 0): Generator<[where: string, message: Uint8Array]> {
  for (const { name, number, message } of fields) {
    for (const write of wireValues) yield [name, write(new BinaryWriter(), number).finish()];
    if (!message || depth === 3) continue;
    for (const [where, inner] of wireMessages(message, depth + 1))
      yield [`${name}.${where}`, new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(inner).finish()];
  }
}

function validMessage({ fields }: DescMessage): Uint8Array {
  const writer = new BinaryWriter();
  for (const { jsonName, number, scalar } of fields)
    if (scalar === ScalarType.STRING && typeof usualFields[jsonName] === 'string')
      writer.tag(number, WireType.LengthDelimited).string(usualFields[jsonName]);
  return writer.finish();
}

/** The status codes UNKNOWN, INTERNAL and DATA_LOSS. */
const grpcBugs = ['2', '13', '15'];

test('no value in a field or in the metadata of a gRPC call causes an internal error', {
  timeout: 600_000,
}, async () => {
  const session = connectHttp2(`http://127.0.0.1:${service.grpcPort}`, { maxSendHeaderBlockLength: 1 << 20 } as never);
  session.on('error', () => {});
  const call = (path: string, message: Uint8Array, headers: Record<string, string>) =>
    new Promise<string | undefined>((resolve) => {
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
      const received: Record<string, unknown> = {};
      for (const event of ['response', 'trailers']) stream.on(event, (more) => Object.assign(received, more));
      stream.on('error', () => {});
      stream.on('data', () => {});
      stream.setTimeout(answerMsMax, () => stream.close());
      stream.on('close', () => {
        const { 'grpc-status': status, ':status': http } = received;
        // The HTTP status refuses a request that is not gRPC.
        const isAnswered = status !== undefined || Number(http) >= 400;
        if (isAnswered && !grpcBugs.includes(String(status)) && !(Number(http) >= 500)) resolve(undefined);
        else resolve(JSON.stringify({ ...received, reset: stream.rstCode }).slice(0, 300));
      });
      stream.end(envelope(message));
    });
  const usual = { 'content-type': 'application/grpc', te: 'trailers' };
  for (const method of methods) {
    const headers = { ...usual, 'x-api-key': await service.makeKey() };
    const valid = validMessage(method.input);
    const all = [...wireMessages(method.input)].map(([where, message]): Case => {
      const path = pathOf(method);
      return [`${path} ${where}`, () => call(path, Buffer.concat([valid, message]), headers)];
    });
    if (all.length > 0) await sendAll(all);
  }
  const { input, ...listVoices } = methods.find(({ name }) => name === 'ListVoices')!;
  const texts = [...hostileHeaders, '\xff'.repeat(20_000), 'x'.repeat(60_000), '~'.repeat(60_000)];
  const ofGrpc = ['grpc-timeout', 'grpc-encoding', 'grpc-accept-encoding', 'x-any', 'x-any-bin'];
  await sendAll(
    [...usualHeaders, ...gateHeaders, ...ofGrpc]
      .filter((name) => name !== 'host')
      .flatMap((name) =>
        texts.map((text): Case => {
          const headers = { ...usual, 'x-api-key': service.key, [name]: text };
          return [`metadata ${name}`, () => call(pathOf(listVoices as DescMethod), new Uint8Array(), headers)];
        }),
      ),
  );
  session.destroy();
});

type Messages = readonly Readonly<Record<string, unknown>>[];

/** The messages of live speech: one for each kind of input in the proto, with all its members. */
const liveMessages = LiveSpeechRequestSchema.fields.map(({ name, message }) => {
  const members = message!.fields.map((each) => [each.name, usualFields[each.jsonName] ?? null] as const);
  return { type: name, ...Object.fromEntries(members) };
});
const elevenLabsMessages = [
  { text: ' ', voice_settings: { speed: 1 }, context_id: 'a' },
  { text: 'Hi. ', flush: true, context_id: 'a' },
  { context_id: 'a', close_context: false, close_socket: false },
  { text: '', context_id: 'a' },
  { close_socket: true },
];
const dialogueMessages = [
  { context_id: 'a', voices: ['tone-low'], voice_settings: { stability: 1 } },
  { context_id: 'a', inputs: [{ text: 'Hi.', voice_id: 'tone-low', new_turn: true }], flush: true },
  { context_id: 'a', keep_alive: true },
  { context_id: 'a', close_context: true },
  { close_socket: true },
];
const cartesiaMessages = [
  { ...cartesiaSpeech, continue: true, flush: false },
  { context_id: 'a', transcript: '', continue: false, cancel: false },
  { context_id: 'a', cancel: true },
];
/** The messages of a session on each WebSocket. A new WebSocket fails the test of routes or lacks a type here. */
const sockets: Readonly<Record<string, Messages>> = {
  '/api/audio/speech/live': liveMessages,
  '/v1/text-to-speech/tone-low/stream-input': elevenLabsMessages,
  '/v1/text-to-speech/tone-low/multi-stream-input': elevenLabsMessages,
  '/v1/text-to-dialogue/stream-input': dialogueMessages,
  '/v1/text-to-dialogue/multi-stream-input': dialogueMessages,
  '/tts/websocket': cartesiaMessages,
};

/** Sends the messages, and waits until the service closes, answers the last message, or has been silent for a moment. */
function talk(path: string, messages: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}${path}`, {
      headers: { 'X-API-Key': service.key },
    });
    let fault: string | undefined;
    const timer = setTimeout(() => socket.close(), 30);
    socket.on('open', () => {
      for (const message of messages) socket.send(message);
    });
    socket.on('message', (message) => {
      timer.refresh();
      const text = message.toString();
      // Cartesia's errors have a status of at least 500 by design.
      if (text.includes('internal_error')) fault = text;
      if (/"type":"done"|"isFinal":true|"done":true/.test(text)) socket.close();
    });
    socket.on('error', (error) => {
      if (/ 5\d\d/.test(error.message)) fault = error.message;
    });
    socket.on('close', (code) => {
      clearTimeout(timer);
      if (code === 1011) fault = 'closed with 1011';
      resolve(fault && `${messages.join(' ').slice(0, 300)}: ${fault}`);
    });
  });
}

test('no value in a message of a WebSocket causes an internal error', { timeout: 600_000 }, async () => {
  for (const [path, messages] of Object.entries(sockets)) {
    const usual = messages.map((message) => JSON.stringify(message));
    const cases = messages.flatMap((message, n) =>
      pathsIn(message).flatMap((place, i) =>
        hostileJson(i).map((value): Case => {
          const hostile = putJson(message, place, value);
          return [`${path} ${n} ${place.join('.')}`, () => talk(path, usual.with(n, hostile))];
        }),
      ),
    );
    await sendAll(cases);
  }
});
