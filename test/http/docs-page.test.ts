// Tests that no link on the reference page /docs is broken, and that nothing is missing on it.
import { afterAll, expect, test } from 'vitest';
import { protoReference } from '../../gen/sonant/v1/reference.ts';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);

test('links resolve, ids are unique, and all methods and messages are present', async () => {
  const page = await (await fetch(`${gateway.url}/docs`)).text();
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  const links = new Set([...page.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id));
  expect([...links].filter((id) => !ids.includes(id))).toEqual([]);
  const others = new Set([...page.matchAll(/ href="([^"#][^"]*)"/g)].map(([, href]) => href!));
  expect(others).toEqual(new Set(['docs', 'docs/README.md', 'openapi.json']));
  for (const href of others) expect((await fetch(new URL(href, `${gateway.url}/docs`))).status).toBe(200);
  const { services, messages, enums } = protoReference;
  const named = [...services.flatMap(({ methods }) => methods), ...messages, ...enums].map(({ name }) => name);
  for (const name of named)
    if (!/(Request|Response)$/.test(name)) expect(page).toContain(`id="grpc-${name.replace('.', '-')}"`);
});
