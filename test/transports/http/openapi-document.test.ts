// Tests that the OpenAPI document is complete, and valid according to an independent validator of OpenAPI 3.1. Every
// operation is described, and every example matches its schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { failureTable } from '../../../src/platform/errors.ts';
import type { DocumentedContent, OpenApi } from '../../../src/transports/http/docs/openapi-document.ts';
import type { Schema } from '../../../src/transports/http/route-docs.ts';
import { eventsIn } from './event-reader.ts';
import { openDocumentCheck } from './openapi-check.ts';

const file = join(import.meta.dirname, '../..', '..', 'docs', 'openapi.json');
const document = JSON.parse(readFileSync(file, 'utf8')) as OpenApi;
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
