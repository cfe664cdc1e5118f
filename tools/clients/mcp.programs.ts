// Tests MCP at /mcp: the official clients of both generations, the tools, and requests that are refused.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as SessionClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as SessionTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openTestGateway } from '../../test/transports/http/open-gateway.ts';

type Gateway = Awaited<ReturnType<typeof openTestGateway>>;
type Block = { type: string; text: string; uri: string; mimeType: string; data: string; description: string };
type Call = (name: string, given?: object) => Promise<{ blocks: Block[]; isError: boolean; json: any }>;

const scopes = ['speech:synthesize', 'voices:read', 'jobs:read', 'jobs:write', 'usage:read'];
const about = { name: 'test', version: '1.0.0' };

/** Calls a tool through a client. `json` is the text of the result, unless it is an error. */
const callerOf =
  (callTool: (params: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>): Call =>
  async (name, given = {}) => {
    const { content, isError = false } = (await callTool({ name, arguments: { ...given } })) as any;
    const text = content.find(({ type }: Block) => type === 'text')?.text;
    return { blocks: content, isError, json: isError ? undefined : JSON.parse(text) };
  };

/** Official clients: one with a bearer token for the stateless revision, one with X-API-Key for earlier revisions. */
const clients = {
  async stateless({ url, key }: Gateway) {
    const client = new Client(about, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
    onTestFinished(() => client.close());
    return { client, call: callerOf((params) => client.callTool(params)) };
  },
  async 'with initialize'({ url, key }: Gateway) {
    const client = new SessionClient(about);
    const requestInit = { headers: { 'X-API-Key': key } };
    await client.connect(new SessionTransport(new URL('/mcp', url), { requestInit }) as never);
    onTestFinished(() => client.close());
    return { client, call: callerOf((params) => client.callTool(params)) };
  },
};

describe.each(Object.entries(clients))('the official client, %s', (_name, connect) => {
  test('lists the tools, whose schemas are those of the protos', async () => {
    const { client } = await connect(await openTestGateway());
    expect(client.getServerVersion()?.name).toBe('sonant');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['speak', 'list_voices', 'make_job', 'get_job', 'get_usage']);
    const [speak, list, , get] = tools.map(({ inputSchema }) => inputSchema as any);
    expect(speak.properties.speaking_rate).toMatchObject({ type: 'number', minimum: 0.25, maximum: 4, default: 1 });
    expect(Object.keys(list.properties)).toEqual(['limit', 'cursor', 'language_code', 'engine', 'text']);
    expect(get).toMatchObject({ required: ['job_id'], properties: { job_id: { type: 'string' } } });
  });

  test('gets a link that plays and expires, and short audio itself if it asks for that', async () => {
    const gateway = await openTestGateway();
    const { call } = await connect(gateway);
    const { blocks, json } = await call('speak', { text: 'Hello.', voice_id: 'tone-low', language_code: null });
    const [link] = blocks;
    expect(blocks.map(({ type }) => type)).toEqual(['resource_link', 'text']);
    expect(link).toMatchObject({ mimeType: 'audio/mpeg', uri: json.audio_url });
    expect(Date.parse(json.expires_at)).toBeGreaterThan(Date.now());
    expect(link!.description).toContain(json.expires_at);
    const played = await fetch(gateway.here(link!.uri));
    const bytes = Buffer.from(await played.arrayBuffer());
    expect([played.status, played.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    const short = await call('speak', { text: 'Hello.', voice_id: 'tone-low', inline: true });
    expect(short.blocks[2]).toMatchObject({ type: 'audio', mimeType: 'audio/mpeg', data: bytes.toString('base64') });
    const long = await call('speak', { text: 'Hello, again. '.repeat(100), output_format: 'wav', inline: true });
    expect(long.blocks.map(({ type }) => type)).toEqual(['resource_link', 'text']);
    expect(long.json.inline).toMatch(/more than 36000/);
    expect(gateway.calls.at(-1)).toMatchObject({ api: 'mcp', method: 'sonant.v1.SpeechService/SynthesizeSpeech' });
  });

  test('lists voices by page and filter, makes a job and follows it, and reads the usage', async () => {
    const gateway = await openTestGateway();
    const { call } = await connect({ ...gateway, key: await gateway.makeKey(scopes) });
    const first = (await call('list_voices', { limit: 1 })).json;
    expect(first.voices).toHaveLength(1);
    const next = (await call('list_voices', { limit: 1, cursor: first.next_cursor })).json;
    expect(next.voices[0].voice_id).not.toBe(first.voices[0].voice_id);
    expect((await call('list_voices', { text: 'no such words' })).json).toEqual({});
    const job = (await call('make_job', { voice_id: 'tone-low', text: 'A long text.' })).json;
    expect(job.output_format).toBe('mp3');
    const done = async () => (await call('get_job', { job_id: job.id })).json;
    await expect.poll(async () => (await done()).status, { timeout: 20_000 }).toBe('succeeded');
    expect((await done()).audio_url).toMatch(/\.mp3$/);
    expect((await call('get_usage', { group_by: 'voice' })).json.total.requests).toBeGreaterThan(0);
  });

  test('reads failures as results, in the sentences of REST with the names of the tools', async () => {
    const gateway = await openTestGateway();
    const { call } = await connect({ ...gateway, key: await gateway.makeKey(scopes) });
    const textOf = async (name: string, given: object) => {
      const { isError, blocks } = await call(name, given);
      expect(isError).toBe(true);
      return blocks[0]!.text;
    };
    const rest = await gateway.send('/api/audio/speech', { body: { text: 'a', voice_id: 'nobody' } });
    expect(await textOf('speak', { text: 'a', voice_id: 'nobody' })).toBe(
      ((await rest.json()) as { message: string }).message.replace('GET /api/voices', 'list_voices'),
    );
    const invalid = await textOf('speak', { text: 'a', speaking_rate: '2', colour: 'red', inline: 1 });
    expect(invalid).toContain('speaking_rate must be a number');
    expect(invalid).toContain('colour is not a known field');
    expect(invalid).toContain('inline must be true or false');
    expect(await textOf('get_job', { job_id: 'none' })).toBe('Job not found for this key.');
    expect(await textOf('list_voices', { limit: 0 })).toContain('limit must be ');
    const { next_cursor: cursor } = (await call('list_voices', { limit: 1 })).json;
    for (const filter of [{ text: 'tone' }, { engine: 'tone' }, { language_code: 'en' }])
      expect(await textOf('list_voices', { ...filter, cursor })).toContain('cursor ');
  });
});

test('a key without a scope gets the scope as the result, and a tool that it may call', async () => {
  const gateway = await openTestGateway();
  const { call } = await clients.stateless({ ...gateway, key: await gateway.makeKey(['voices:read']) });
  expect((await call('list_voices')).json.voices.length).toBeGreaterThan(0);
  const { isError, blocks } = await call('speak', { text: 'a' });
  expect([isError, blocks[0]!.text]).toEqual([true, expect.stringMatching(/lacks a scope.*speech:synthesize/s)]);
});

/** Sends a message unchanged. */
async function post({ url, key }: Gateway, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, message: text === '' ? undefined : JSON.parse(text) };
}

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
const stateless = (method: string, more: Record<string, string> = {}) => ({
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': method,
  ...more,
});

test.each(['2025-06-18', '2025-11-25', '2025-03-26'])(
  'initialize of %s is answered, without a session',
  async (version) => {
    const gateway = await openTestGateway();
    const given = { protocolVersion: version, capabilities: {}, clientInfo: about };
    const { status, headers, message: answer } = await post(gateway, message('initialize', given));
    expect([status, answer.result.protocolVersion, headers.get('mcp-session-id')]).toEqual([200, version, null]);
    const told = await post(gateway, { jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([told.status, told.message]).toEqual([202, undefined]);
    const listed = await post(gateway, message('tools/list'), { 'MCP-Protocol-Version': version });
    expect(listed.message.result.tools).toHaveLength(5);
    expect(listed.message.result.resultType).toBeUndefined();
  },
);

test('an unknown revision gets those that are known', async () => {
  const gateway = await openTestGateway();
  const old = await post(gateway, message('initialize', { protocolVersion: '2024-11-05' }));
  expect(old.message.result.protocolVersion).toBe('2025-11-25');
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
  const headers = { 'MCP-Protocol-Version': '2099-01-01', 'Mcp-Method': 'ping' };
  const { status, message: answer } = await post(gateway, message('ping', { _meta }), headers);
  expect([status, answer.error.code, answer.error.data.supported[0]]).toEqual([400, -32022, '2026-07-28']);
  const { error } = (await post(gateway, message('ping'), { 'MCP-Protocol-Version': '2099-01-01' })).message;
  expect(error.code).toBe(-32022);
});

const callSpeak = { name: 'speak', arguments: { text: 'a' }, ...meta };
test.each([
  ['not JSON', '{', {}, 400, -32700],
  ['a batch', [message('ping')], {}, 400, -32600],
  ['no JSON-RPC', { id: 1, method: 'ping' }, {}, 400, -32600],
  ['a response', { jsonrpc: '2.0', id: 1, result: {} }, {}, 400, -32600],
  ['an id of null', { jsonrpc: '2.0', id: null, method: 'ping' }, {}, 400, -32600],
  ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, {}, 400, -32602],
  ['an unknown method', message('resources/list'), {}, 200, -32601],
  ['an unknown method, stateless', message('resources/list', meta), stateless('resources/list'), 404, -32601],
  ['initialize, stateless', message('initialize', meta), stateless('initialize'), 404, -32601],
  ['an unknown tool', message('tools/call', { name: 'sing' }), {}, 200, -32602],
  ['arguments that are no object', message('tools/call', { name: 'speak', arguments: 'a' }), {}, 200, -32602],
  ['no headers', message('ping', meta), {}, 400, -32020],
  ['no version in the body', message('ping'), stateless('ping'), 400, -32020],
  ['another method in the header', message('ping', meta), stateless('tools/list'), 400, -32020],
  ['no name in the header', message('tools/call', callSpeak), stateless('tools/call'), 400, -32020],
  ['another name', message('tools/call', callSpeak), stateless('tools/call', { 'Mcp-Name': 'get_job' }), 400, -32020],
  ['another type', 'a', { 'Content-Type': 'text/plain' }, 415, -32000],
])('%s is refused', async (_what, body, headers, status, code) => {
  const answer = await post(await openTestGateway(), body, headers);
  expect([answer.status, answer.message.error.code]).toEqual([status, code]);
  expect(answer.message.error.message).not.toBe('');
});

test('an encoded name is read', async () => {
  const name = `=?base64?${Buffer.from('speak').toString('base64')}?=`;
  const headers = stateless('tools/call', { 'Mcp-Name': name });
  const { message: answer } = await post(await openTestGateway(), message('tools/call', callSpeak), headers);
  expect(answer.result).toMatchObject({ resultType: 'complete', isError: false });
});

test('callers without a key, from another origin, or over the limit are refused as on REST', async () => {
  const gateway = await openTestGateway({ isLimited: true, settings: { allowedOrigins: ['https://agent.example'] } });
  const anonymous = await post({ ...gateway, key: '' }, message('ping'));
  expect([anonymous.status, anonymous.message.error]).toMatchObject([401, { data: { error: 'invalid_api_key' } }]);
  expect(anonymous.headers.get('www-authenticate')).toContain('realm="sonant"');
  const scopeless = await post({ ...gateway, key: await gateway.makeKey(['keys:read']) }, message('ping'));
  expect([scopeless.status, scopeless.message.error.data.error]).toEqual([403, 'insufficient_scope']);
  for (const origin of ['https://agent.example', 'http://sonant.test'])
    expect((await post(gateway, message('ping'), { Origin: origin })).status).toBe(200);
  const page = await post(gateway, message('ping'), { Origin: 'https://elsewhere.example' });
  expect([page.status, page.message.error.data.error]).toEqual([403, 'access_denied']);
  for (const method of ['GET', 'DELETE']) expect((await fetch(`${gateway.url}/mcp`, { method })).status).toBe(405);
  const answers = await Promise.all(Array.from({ length: 400 }, () => post(gateway, message('ping'))));
  const refused = answers.find(({ status }) => status === 429)!;
  expect(refused.message.error.data).toMatchObject({ error: 'rate_limit_exceeded', status: 429 });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
});
