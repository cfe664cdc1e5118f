// Tests the examples in /openapi.json: each request reaches its operation, is admitted and is understood.
import { afterAll, expect, test } from 'vitest';
import type { DocumentedOperation, OpenApi } from '../../../src/transports/http/docs/openapi-document.ts';
import type { Parameter, Schema } from '../../../src/transports/http/route-docs.ts';
import { wavHeader } from '../../engines/google-server.ts';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({ engine: { blends: true } }, afterAll);
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApi;
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

const silence = Buffer.concat([wavHeader(24_000, Buffer.alloc(4_800)), Buffer.alloc(4_800)]);

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

test('each is understood', async () => {
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
