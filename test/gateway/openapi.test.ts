// /openapi.json and /docs: that they are there, and that they say what the service does.
import { afterAll, describe, expect, test } from 'vitest';
import { failureTable } from '../../src/errors.ts';
import { openDoor } from './open-door.ts';

type Json = Record<string, unknown>;
interface Operation extends Json {
  operationId: string;
  security: object[];
  responses: Record<string, { description: string; headers?: Json; content?: Record<string, { schema: Json }> }>;
}

const door = await openDoor({}, afterAll);
const document = (await (await fetch(`${door.url}/openapi.json`)).json()) as {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; examples: Record<string, { value: { error: string; status: number } }> };
};
const poor = { 'X-API-Key': await door.makeKey(['usage:read']) };
const operationOf = (path: string, method: string) => document.paths[path]![method]!;

test('is OpenAPI 3.1 of version 1.0.0, and names every address that needs no other door', () => {
  expect([document.openapi, document.info.version]).toEqual(['3.1.0', '1.0.0']);
  expect(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    ),
  ).toEqual([
    'post /api/audio/speech',
    'delete /api/audio/{id}',
    'post /api/audio/speech/sse',
    'get /api/audio/speech/sse',
    'post /api/audio/speech/sse/tickets',
    'get /api/audio/speech/sse/tickets/{id}',
    'get /api/audio/speech/sse/{id}',
    'delete /api/audio/speech/sse/{id}',
    'post /api/audio/estimate',
    'get /audio/{file}',
    'get /api/voices',
    'post /api/voices',
    'get /api/cloning',
    'get /api/voices/{id}',
    'patch /api/voices/{id}',
    'delete /api/voices/{id}',
    'get /api/voices/{id}/preview',
    'post /api/auth/api-keys',
    'get /api/auth/api-keys',
    'get /api/auth/api-keys/self',
    'get /api/auth/api-keys/{id}',
    'patch /api/auth/api-keys/{id}',
    'delete /api/auth/api-keys/{id}',
    'post /api/auth/api-keys/{id}/rotate',
    'get /api/usage',
    'get /metrics',
    'get /healthz',
    'get /readyz',
    'post /api/voices/{id}/consent/revoke',
    'post /api/auth/api-keys/self/revoke',
    'post /v1/audio/speech',
    'get /v1/audio/voices',
    'get /v1/models',
  ]);
});

test('every reference leads somewhere, and every parameter of a path is told', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)];
  expect(references.length).toBeGreaterThan(50);
  for (const [, kind, name] of references)
    expect((document.components as unknown as Record<string, Json>)[kind!]![name!], name).toBeDefined();
  for (const [path, methods] of Object.entries(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    for (const { parameters = [] } of Object.values(methods) as {
      parameters?: { in: string; name: string; required: boolean }[];
    }[]) {
      expect(
        parameters.filter((parameter) => parameter.in === 'path' && parameter.required).map(({ name }) => name),
      ).toEqual(inPath);
    }
  }
});

test('every failure is documented with the body that it has', () => {
  const { examples } = document.components;
  for (const [reason, { status }] of Object.entries(failureTable))
    expect(examples[reason]!.value).toMatchObject({ error: reason, status });
});

describe('what is documented is what is answered', () => {
  const hello = { voice_id: 'tone-low', text: 'Hello.' };
  const chunks = { voice_id: 'tone-low', text_chunks: ['Hello.'], method: 'streaming' };

  test.each([
    ['a link', 'post', '/api/audio/speech', '', { body: hello }],
    ['sound', 'post', '/api/audio/speech', '', { body: { ...hello, return_format: 'buffer' } }],
    ['a stream', 'post', '/api/audio/speech', '', { body: { ...chunks, output_format: 'mp3', return_format: 'url' } }],
    ['events', 'post', '/api/audio/speech', '', { body: chunks, headers: { Accept: 'text/event-stream' } }],
    ['a bad request', 'post', '/api/audio/speech', '', { body: {} }],
    ['a problem', 'post', '/api/audio/speech', '', { body: {}, headers: { Accept: 'application/problem+json' } }],
    ['a bad key', 'post', '/api/audio/speech', '', { body: hello, headers: { 'X-API-Key': 'x' } }],
    ['a poor key', 'post', '/api/audio/speech', '', { body: hello, headers: poor }],
    ['events', 'post', '/api/audio/speech/sse', '', { body: { ...chunks, foo: 1 } }],
    ['events', 'get', '/api/audio/speech/sse', '?voice_id=far&text=a', {}],
    ['a ticket', 'post', '/api/audio/speech/sse/tickets', '', { body: chunks }],
    ['an estimate', 'post', '/api/audio/estimate', '', { body: hello }],
    ['voices', 'get', '/api/voices', '', {}],
    ['a bad list', 'get', '/api/voices', '?limit=0', {}],
    ['health', 'get', '/healthz', '', {}],
    ['readiness', 'get', '/readyz', '', {}],
  ] as const)('%s: %s %s%s', async (_, method, path, query, init) => {
    const answer = await door.ask(path + query, init);
    const operation = operationOf(path, method);
    const documented = operation.responses[answer.status]!;
    expect(documented, `status ${answer.status}`).toBeDefined();
    const type = answer.headers.get('Content-Type')!.split(';', 1)[0]!;
    expect(Object.keys(documented.content ?? {})).toContain(type);
    const told = new Set(Object.keys(documented.headers ?? {}).map((name) => name.toLowerCase()));
    const ours = [...answer.headers.keys()].filter((name) =>
      /^(x-(?!accel|content-type|frame)|content-(disposition|range)|etag|location|retry)/.test(name),
    );
    expect(ours.filter((name) => !told.has(name))).toEqual([]);
    const body = await answer.text();
    if (type !== 'application/json') return;
    const { $ref } = documented.content![type]!.schema as { $ref: string };
    const schema = document.components.schemas[$ref.split('/').at(-1)!] as { properties: Json; required: string[] };
    const members = Object.keys(JSON.parse(body));
    expect(members.filter((name) => !(name in schema.properties))).toEqual([]);
    expect(schema.required.filter((name) => !members.includes(name))).toEqual([]);
  });

  test('what needs a key is refused without one, and nothing else is', async () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { security, operationId }] of Object.entries(methods)) {
        const answer = await fetch(door.url + path.replace(/\{\w+\}/, 'x'), { method: method.toUpperCase() });
        expect(answer.status === 401, operationId).toBe(security.length > 0);
        await answer.arrayBuffer();
      }
    }
  });

  test('the examples are taken', async () => {
    const { requestBody } = operationOf('/api/audio/speech', 'post') as unknown as {
      requestBody: { content: Record<string, { examples: Record<string, { value: object }> }> };
    };
    for (const { value } of Object.values(requestBody.content['application/json']!.examples)) {
      const answer = await door.ask('/api/audio/speech', { body: { ...value, voice_id: 'tone-low' } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('X-Ignored-Fields')).toBeNull();
      await answer.arrayBuffer();
    }
  });
});

describe('the page', () => {
  test('needs nothing but itself, and runs no script', async () => {
    const answer = await fetch(`${door.url}/docs`);
    const page = await answer.text();
    expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]+='/);
    expect(page).not.toMatch(/<script|<link|<img|https?:\/\/(?!sonant\.test)|\son\w+=|style="/);
    expect(page).toContain('color-scheme: light dark');
  });

  test('tells every operation and every failure, and leads to each', async () => {
    const page = await (await fetch(`${door.url}/docs`)).text();
    for (const methods of Object.values(document.paths)) {
      for (const { operationId } of Object.values(methods)) expect(page).toContain(`id="${operationId}"`);
    }
    for (const reason of Object.keys(failureTable)) expect(page).toContain(`id="${reason}"`);
    expect(page).not.toContain('undefined');
    expect(page).not.toContain('[object');
  });
});
