// Tests that no error reply repeats more than 100 characters of its request, wherever the request has long input: every
// path, query and header, every member of every body, unknown members, and the APIs that are not in the OpenAPI document.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { scopes } from '../../../src/accounts/keys/caller.ts';
import { pathsOf } from '../../fuzz/hostile-values.ts';
import { openTestGateway } from './open-gateway.ts';
import type { OpenApi } from './openapi-check.ts';

const { url, makeKey } = await openTestGateway({}, afterAll);
const key = await makeKey(scopes);

/** No part of the input occurs in it twice. */
const input = Array.from({ length: 250 }, (_, n) => `word ${n}`).join(' ');
const echoMax = 100;
const runs = Array.from({ length: input.length - echoMax }, (_, i) => input.slice(i, i + echoMax + 1));
const found = (reply: string) => runs.find((run) => reply.includes(run));

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

const echoes: string[] = [];
const statuses = new Map<number, number>();
async function send(path: string, { method = 'POST', headers = {}, body }: Sent): Promise<void> {
  const answer = await fetch(url + path, {
    method,
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers },
    ...(method !== 'GET' && body !== undefined && { body: JSON.stringify(body) }),
  });
  const lines = [...answer.headers].map((line) => line.join(': '));
  const reply = [...lines.map(decode), await answer.text()].join('\n');
  // An unknown method of MCP has the status 200.
  if (answer.status < 400 && path !== '/mcp') return;
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  const echo = found(reply) ?? found(decode(reply));
  if (echo) echoes.push(`${method} ${path.slice(0, 60)} ${JSON.stringify(body ?? headers).slice(0, 60)}: ${echo}`);
}

const decode = (text: string) =>
  text.replace(/%[0-9A-F]{2}/g, (code) => String.fromCharCode(Number(`0x${code.slice(1)}`)));

const document: OpenApi = JSON.parse(readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'));
const resolve = (ref: string) => document.components.schemas[ref.split('/').at(-1)!]!;

const headers = ['Accept', 'Idempotency-Key', 'X-Request-Id', 'If-Match', 'Authorization', 'X-API-Key', 'Range'];
const values = [input, [input], { [input]: input }, [{ [input]: input }], [{ title: input, text: 5 }]];

test('an error reply has at most 100 characters of its request', async () => {
  for (const [pattern, methods] of Object.entries(document.paths)) {
    const path = pattern.replace(/\{\w+\}/g, 'some-id');
    for (const [name, operation] of Object.entries(methods)) {
      if (!['get', 'post', 'put', 'patch', 'delete'].includes(name)) continue;
      const method = name.toUpperCase();
      const text = encodeURIComponent(input);
      if (path !== pattern) await send(pattern.replace(/\{\w+\}/g, text), { method, body: {} });
      const parameters = (operation.parameters ?? []).map(({ name }) => name);
      for (const each of [...parameters, text]) await send(`${path}?${each}=${text}`, { method, body: {} });
      for (const header of headers) await send(path, { method, headers: { [header]: input }, body: {} });
      await send(path, { method, headers: { 'Content-Type': `text/plain; charset=${input}` }, body: {} });
      const { schema } = operation.requestBody?.content['application/json'] ?? {};
      const members = schema ? pathsOf(schema, resolve).flatMap((path) => (path.length === 1 ? path : [])) : [];
      for (const member of schema ? new Set([...members, input]) : [])
        for (const value of values) await send(path, { method, body: { [member]: value } });
    }
  }
  for (const service of ['SpeechService/SynthesizeSpeech', 'VoiceService/ListVoices', 'JobService/CreateJob'])
    for (const member of ['voice_id', 'output_format', 'text', 'limit', 'text_chunks', input])
      for (const value of values) await send(`/sonant.v1.${service}`, { body: { [member]: value } });
  await send(`/sonant.v1.${encodeURIComponent(input)}`, { body: {} });
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'speak', arguments: {} } };
  for (const body of [
    { ...rpc, id: input },
    { ...rpc, method: input },
    { ...rpc, params: { name: input } },
    { ...rpc, params: { name: 'speak', arguments: { [input]: input, voice_id: input } } },
    { ...rpc, params: { ...rpc.params, _meta: { 'io.modelcontextprotocol/protocolVersion': input } } },
  ])
    await send('/mcp', { body });
  await send(`/mcp`, { headers: { 'MCP-Protocol-Version': input }, body: rpc });
  for (const path of ['/v1/text-to-speech/x', '/tts/bytes', '/v1/audio/speech'])
    for (const member of [
      ...'voice voice_id model model_id transcript output_format response_format'.split(' '),
      input,
    ])
      for (const value of values) await send(path, { body: { [member]: value } });
  expect(statuses.get(400)).toBeGreaterThan(800);
  expect(statuses.get(429)).toBeUndefined();
  expect(echoes).toEqual([]);
});
