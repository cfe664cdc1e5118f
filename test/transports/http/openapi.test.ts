// Tests that /openapi.json and /docs exist and describe the service correctly.
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { toOpenApiTypes } from '../../../proto/write-openapi-types.ts';
import { failureTable } from '../../../src/platform/errors.ts';
import type { OpenApi } from '../../../src/transports/http/docs/openapi-document.ts';
import { openTestGateway } from './open-gateway.ts';

const root = join(import.meta.dirname, '../..', '..');
const file = join(root, 'docs', 'openapi.json');
const types = join(root, 'gen', 'openapi.ts');

const gateway = await openTestGateway({}, afterAll);
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
