// Tests /openapi.json and /docs: the document is complete, and valid according to an independent validator of OpenAPI 3.1;
// every operation is described, every example matches its schema, and each request reaches its operation and is
// understood.
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, describe, expect, test } from 'vitest';
import { toOpenApiTypes } from '../../../proto/write-openapi-types.ts';
import { failureTable } from '../../../src/platform/errors.ts';
import type { Parameter, Schema } from '../../../src/transports/http/route-docs.ts';
import { wavOfBytes } from '../../audio/recording-files.ts';
import { eventsIn } from './event-reader.ts';
import { openTestGateway } from './open-gateway.ts';
import { type DocumentedContent, type DocumentedOperation, type OpenApi, openDocumentCheck } from './openapi-check.ts';

const root = join(import.meta.dirname, '../..', '..');
const file = join(root, 'docs', 'openapi.json');
const types = join(root, 'gen', 'openapi.ts');

const gateway = await openTestGateway({ engine: { blends: true } }, afterAll);
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApi;

/** After a change of the API, `npx vitest run test/transports/http/openapi.test.ts -u` writes both files. */
test('is the one in docs/openapi.json, except for the address of the server, and gen/openapi.ts has its types', async () => {
  const published = { ...document, servers: [{ url: 'http://127.0.0.1:8080' }] };
  await expect(`${JSON.stringify(published, null, 2)}\n`).toMatchFileSnapshot(file);
  await expect(toOpenApiTypes(document)).toMatchFileSnapshot(types);
});

describe('the page', () => {
  test('loads only files of this service, and may load no others', async () => {
    const answer = await fetch(`${gateway.url}/docs`);
    const page = await answer.text();
    expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.headers.get('Content-Security-Policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    const links = [...page.matchAll(/ (?:href|src)="([^"#][^"]*)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) {
      expect(link).not.toMatch(/^(\/|\w+:)/);
      const file = await fetch(new URL(link, `${gateway.url}/docs`));
      expect([link, file.status]).toEqual([link, link === 'console' ? expect.any(Number) : 200]);
      await file.arrayBuffer();
    }
    expect((await fetch(`${gateway.url}/docs/none.md`)).status).toBe(404);
  });

  test('lists every failure', async () => {
    const page = await (await fetch(`${gateway.url}/docs`)).text();
    for (const reason of Object.keys(failureTable)) expect(page).toContain(`id="${reason}"`);
  });
});

const { check, checkEvents, faultsOf, resolve } = openDocumentCheck();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const answers = operations.flatMap(({ operation }) =>
  Object.entries(operation.responses).map(([status, answer]) => ({
    name: `${operation.operationId} ${status}`,
    status: Number(status),
    answer: resolve(answer),
  })),
);
const isBinary = (type: string) => /^(audio|text\/html|text\/plain|application\/(epub|octet|c2pa))/.test(type);

function exampleFaults(name: string, { schema, example, examples = {} }: DocumentedContent): string[] {
  const given = example === undefined ? [] : [example];
  const values = [...given, ...Object.values(examples).map((one) => resolve<{ value: unknown }>(one).value)];
  if (values.length === 0) return [`${name} has no example`];
  return values.flatMap((value) => faultsOf(schema, value).map((fault) => `${name}: ${fault}`));
}

test('a validator of others finds it valid', async () => {
  expect(await new Validator().validate(structuredClone(document) as never)).toEqual({ valid: true });
});

test('every reference leads somewhere, and every component is used', () => {
  const text = JSON.stringify(document);
  const references = new Set([...text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, name]) => name));
  const { securitySchemes: _, ...components } = document.components;
  const there = Object.entries(components).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `${kind}/${name}`),
  );
  expect([...references].filter((name) => !there.includes(name!))).toEqual([]);
  const unused = there.filter((name) => !references.has(name));
  // Unused headers and examples are allowed: they belong to responses that any path may have.
  expect(unused.filter((name) => !/^(headers|examples)\//.test(name))).toEqual([]);
});

describe('every operation', () => {
  test('has a name of its own, a tag that is explained, a summary, and says who may', () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operation } of operations) {
      expect(operation.summary, operation.operationId).toMatch(/^[A-Z][^.]+$|^Is .*\?$|^Can .*\?$/);
      expect(document.tags.map(({ name }) => name)).toContain(operation.tags[0]);
      for (const scheme of operation.security.flatMap(Object.keys))
        expect(document.components.securitySchemes).toHaveProperty(scheme);
    }
  });

  test('explains its parameters, with those of its path, and an example of each of these', () => {
    for (const { path, operation } of operations) {
      const { parameters = [] } = operation;
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name }) => name)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      for (const { name, description, schema, example, required } of parameters) {
        expect(description, name).toMatch(/\w/);
        if (required) expect(faultsOf(schema, example), name).toEqual([]);
      }
    }
  });

  test('has examples of what it takes', () => {
    const bodies = operations.flatMap(({ operation: { operationId, requestBody } }) =>
      Object.entries(requestBody?.content ?? {})
        .filter(([type]) => !isBinary(type))
        .map(([type, content]) => [`${operationId} ${type}`, content] as const),
    );
    expect(bodies.length).toBeGreaterThan(8);
    expect(bodies.flatMap(([name, content]) => exampleFaults(name, content))).toEqual([]);
  });

  test('has examples of what it answers, and explains every header', () => {
    const faults = answers.flatMap(({ name, answer: { description, headers, content = {} } }) => {
      expect(description, name).toMatch(/\w/);
      expect(Object.keys(headers), name).toEqual(expect.arrayContaining(['X-Request-Id', 'X-API-Version']));
      return Object.entries(content)
        .filter(([type]) => !isBinary(type))
        .flatMap(([type, told]) => exampleFaults(`${name} ${type}`, told));
    });
    expect(faults).toEqual([]);
  });

  test('can succeed, and can fail only as the table has it', () => {
    for (const { operation } of operations)
      expect(Object.keys(operation.responses).filter((status) => status < '4').length).toBeGreaterThan(0);
    const failing = answers.filter(({ status }) => status >= 400);
    for (const { name, status, answer } of failing) {
      for (const reason of Object.keys(answer.content?.['application/json']?.examples ?? {}))
        expect(failureTable[reason as keyof typeof failureTable].status, name).toBe(status);
    }
  });
});

test('the example of a stream is one: each event has the data of its type', () => {
  const streams = answers.flatMap(({ answer }) => answer.content?.['text/event-stream'] ?? []);
  expect(streams.length).toBeGreaterThan(4);
  for (const { schema, example } of streams) {
    const events = eventsIn(String(example));
    expect(events.length).toBeGreaterThan(1);
    for (const { data } of events) expect(faultsOf(schema.contentSchema as Schema, data)).toEqual([]);
  }
});

test('every header and every member is explained, and every failure is shown with the body that it has', () => {
  const { headers, schemas, examples } = document.components;
  for (const [name, { description, schema, example }] of Object.entries(headers)) {
    expect(description, name).toMatch(/\w/);
    expect(faultsOf(schema, example), name).toEqual([]);
  }
  const mute = Object.entries(schemas)
    .filter(([title]) => !title.startsWith('OpenAi'))
    .flatMap(([title, { properties = {} }]) =>
      Object.entries(properties as Record<string, Record<string, unknown>>)
        .filter(
          ([, member]) =>
            !(member.description ?? resolve<typeof member>(member).description) &&
            !member.const &&
            member.type !== 'null',
        )
        .map(([name]) => `${title}.${name}`),
    );
  expect(mute).toEqual([]);
  for (const [reason, { status }] of Object.entries(failureTable))
    expect(examples[reason]!.value).toMatchObject({ error: reason, status });
});

test('what differs from it is found: a status, a type, a header, a member, an event', () => {
  const always = { 'X-Request-Id': 'req_1', 'X-API-Version': '1.0.0' };
  const reply = (status: number, headers: Record<string, string>) => ({
    ...{ method: 'GET', path: '/healthz', status },
    headers: new Headers({ ...always, 'Content-Type': 'application/json', ...headers }),
  });
  expect(check(reply(200, {}), '{"status":"ok"}')).toEqual([]);
  expect(check(reply(418, {}))).toHaveLength(1);
  expect(check(reply(200, { 'Content-Type': 'text/plain' }))).toHaveLength(1);
  expect(check(reply(200, { 'X-New': '1' }))).toHaveLength(1);
  expect(check(reply(200, { 'X-API-Version': '2' }))).toHaveLength(1);
  expect(check(reply(200, {}), '{"status":"ok","more":1}')).toHaveLength(1);
  const stream = { ...reply(200, { 'Content-Type': 'text/event-stream' }), path: '/api/audio/speech/sse' };
  expect(checkEvents(stream, 'data: {"type":"speech.chunk.done","chunk_index":0}\n\n').length).toBeGreaterThan(0);
});

const key = await gateway.makeKey([
  ...['speech:synthesize', 'speech:stream', 'voices:read', 'voices:write'],
  ...['keys:read', 'keys:write', 'jobs:read', 'jobs:write', 'usage:read', 'admin'],
]);
/** Success, or a resource that is missing or has expired, or a feature that is not set up. */
const understood = /^(2..|304|404|410|503)$/;

/** Replaces the names in the examples with names from this service. */
const toHere = (text: string) =>
  gateway
    .here(text)
    .replace(/(voice_id=|"voice(?:_id)?":")clara/g, '$1tone-low')
    .replace('"engine":"acme","voice_id":"joan"', '"engine":"tone","voice_id":"tone-low"')
    .replace('kokoro-af_heart', 'tone-low')
    .replace('kokoro-af_bella', 'tone-high');

interface Body {
  title: string;
  type?: string;
  content?: string | Buffer | FormData | URLSearchParams;
}

const silence = wavOfBytes(24_000, Buffer.alloc(4_800));

/** The bodies of one operation: each JSON example, the form, and the file of the first type that has an example. */
function bodiesOf({ requestBody }: DocumentedOperation): Body[] {
  const content = Object.entries(requestBody?.content ?? {});
  const bodies = content.flatMap(([type, { examples = {}, example }]): Body[] => {
    if (type === 'application/json')
      return Object.entries(examples as Record<string, { value: Schema }>).map(([title, { value }]) => ({
        ...{ title, type, content: toHere(JSON.stringify(value)) },
      }));
    const fields = Object.entries((example ?? {}) as Record<string, string>);
    if (type === 'application/x-www-form-urlencoded') return [{ title: 'form', content: new URLSearchParams(fields) }];
    if (type !== 'multipart/form-data') return [];
    const form = new FormData();
    for (const [name, value] of fields)
      if (String(value).startsWith('@')) form.set(name, new Blob(['no sound']), 'speech.wav');
      else form.set(name, toHere(String(value)));
    return [{ title: 'form', content: form }];
  });
  const file = content.find(([type, { example }]) => typeof example === 'string' || type === 'audio/wav');
  if (file) bodies.push({ title: 'file', type: file[0], content: (file[1].example as string | undefined) ?? silence });
  return bodies.length > 0 ? bodies : [{ title: '' }];
}

function addressOf(path: string, parameters: readonly Parameter[]): string {
  const exampleOf = (name: string) => parameters.find((one) => one.in === 'path' && one.name === name)?.example;
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(exampleOf(name))));
  const query = parameters
    .filter((one) => one.in === 'query' && one.example !== undefined)
    .map(({ name, example }) => toHere(`${name}=${example}`).split(/=(.*)/s).slice(0, 2) as [string, string]);
  return gateway.url + address + (query.length > 0 ? `?${new URLSearchParams(query)}` : '');
}

const requests = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    // This request would revoke the key that all other requests use.
    .filter(([, { operationId }]) => operationId !== 'revokeOwnApiKey')
    .flatMap(([method, operation]) =>
      bodiesOf(operation).map((body) => ({ method: method.toUpperCase(), path, operation, body })),
    ),
);

test('the request of each example is understood', async () => {
  expect(requests.length).toBeGreaterThan(35);
  const faults = await Promise.all(
    requests.map(async ({ method, path, operation: { operationId, parameters = [] }, body }) => {
      const headers = {
        'X-API-Key': key,
        ...(body.type && { 'Content-Type': body.type }),
        ...(operationId === 'beginSignIn' && { Accept: 'application/json' }),
      };
      const request = { method, headers, ...(body.content !== undefined && { body: body.content }) };
      const answer = await fetch(addressOf(path, parameters), { ...request, redirect: 'manual' });
      const text = await answer.text();
      // The example client is unknown, and its recordings are not audio.
      const isRefused = { takeToken: 401, cloneVoice: 400 }[operationId] === answer.status && body.title === 'form';
      // fetch cannot open a WebSocket.
      const isUpgrade = operationId === 'liveSpeech' && answer.status === 400;
      const ignored = answer.headers.get('X-Ignored-Fields') ?? '';
      return (understood.test(String(answer.status)) && ignored === '') || isRefused || isUpgrade
        ? undefined
        : `${operationId} ${body.title}: ${answer.status} ${ignored} ${text.slice(0, 400)}`;
    }),
  );
  expect(faults.filter(Boolean)).toEqual([]);
});
