// Tests that /openapi.json and /docs exist and describe the service correctly.
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { toOpenApiTypes } from '../../proto/write-openapi-types.ts';
import { failureTable } from '../../src/errors.ts';
import type { OpenApi } from '../../src/http/docs/openapi-document.ts';
import { openTestGateway } from './open-gateway.ts';

const root = join(import.meta.dirname, '..', '..');
const file = join(root, 'docs', 'openapi.json');
const types = join(root, 'gen', 'openapi.ts');

const gateway = await openTestGateway({}, afterAll);
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApi;

test('is OpenAPI 3.1 of version 1.0.0, and lists every path of the HTTP API', () => {
  expect([document.openapi, document.info.version]).toEqual(['3.1.0', '1.0.0']);
  expect(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    ),
  ).toEqual([
    'post /api/audio/speech',
    'post /api/audio/estimate',
    'post /api/audio/inspect',
    'get /api/audio/speech/live',
    'post /api/audio/speech/sse',
    'get /api/audio/speech/sse',
    'post /api/audio/speech/sse/tickets',
    'get /api/audio/speech/sse/tickets/{id}',
    'get /api/audio/speech/sse/{id}',
    'delete /api/audio/speech/sse/{id}',
    'post /api/audio/speech/live/tickets',
    'get /audio/{file}',
    'delete /api/audio/{id}',
    'post /api/audio/jobs',
    'get /api/audio/jobs',
    'put /api/audio/jobs/{id}',
    'get /api/audio/jobs/{id}',
    'delete /api/audio/jobs/{id}',
    'get /api/audio/jobs/{id}/events',
    'post /api/books',
    'post /api/audio/jobs/{id}/cancel',
    'post /api/audio/jobs/{id}/retry',
    'get /api/voices',
    'post /api/voices',
    'get /api/voices/{id}',
    'patch /api/voices/{id}',
    'delete /api/voices/{id}',
    'get /api/default-voice',
    'put /api/default-voice',
    'get /api/cloning',
    'get /api/voices/{id}/preview',
    'post /api/voices/{id}/consent/revoke',
    'get /api/lexicons',
    'post /api/lexicons',
    'get /api/lexicons/{id}',
    'delete /api/lexicons/{id}',
    'put /api/lexicons/{id}',
    'get /api/models',
    'get /api/models/{id}',
    'post /api/models/{id}',
    'delete /api/models/{id}',
    'get /api/models/{id}/events',
    'post /api/auth/api-keys',
    'get /api/auth/api-keys',
    'get /api/auth/api-keys/{id}',
    'patch /api/auth/api-keys/{id}',
    'delete /api/auth/api-keys/{id}',
    'post /api/auth/api-keys/{id}/rotate',
    'get /api/auth/api-keys/self',
    'get /api/auth/webhook-secret',
    'post /api/auth/webhook-secret',
    'get /oauth/get-key',
    'post /oauth/get-key',
    'get /api/usage',
    'post /api/auth/api-keys/self/revoke',
    'post /v1/audio/speech',
    'get /v1/audio/voices',
    'get /v1/models',
    'get /v1/models/{id}',
    'get /metrics',
    'get /healthz',
    'get /readyz',
  ]);
});

/** After a change of the API, `npx vitest run test/http/openapi.test.ts -u` writes both files. */
test('is the one in docs/openapi.json, except for the address of the server, and gen/openapi.ts has its types', async () => {
  const published = { ...document, servers: [{ url: 'http://127.0.0.1:8080' }] };
  await expect(`${JSON.stringify(published, null, 2)}\n`).toMatchFileSnapshot(file);
  await expect(toOpenApiTypes(document)).toMatchFileSnapshot(types);
});

describe('responses match the document', () => {
  test('what needs a key is refused without one, and nothing else is', async () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { security, operationId }] of Object.entries(methods)) {
        const answer = await fetch(gateway.url + path.replace(/\{\w+\}/, 'x'), { method: method.toUpperCase() });
        expect(answer.status === 401, operationId).toBe(security.length > 0);
        await answer.arrayBuffer();
      }
    }
  });

  test('the examples are taken', async () => {
    const { examples } = document.paths['/api/audio/speech']!.post!.requestBody!.content['application/json']!;
    for (const { value } of Object.values(examples as Record<string, { value: object }>)) {
      const answer = await gateway.send('/api/audio/speech', { body: { ...value, voice_id: 'tone-low' } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('X-Ignored-Fields')).toBeNull();
      await answer.arrayBuffer();
    }
  });
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
