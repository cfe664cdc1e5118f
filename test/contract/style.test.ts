// Tests instructions and a seed through every transport and every vendor's API: an engine that supports them receives
// them; with any other engine, the request is synthesized and the warnings name them.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ReturnFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { openJobsGateway } from '../clips/jobs/open-jobs.ts';
import { openTestGateway, type TestGateway } from '../transports/http/open-gateway.ts';
import { callLive } from '../transports/http/talk-live.ts';
import { openCore } from '../transports/rpc/open-core.ts';

const instructions = 'Whisper, like a secret.';
const seed = 4_294_967_295;
const manner = { instructions, seed };
const emotion = { instructions: 'Speak with this emotion: excited.' };
const text = 'Good morning.';
const voice = { voice_id: 'tone-low' };
const both = ['ignored:instructions', 'ignored:seed'];

/** Speaks over a transport. Returns the warnings of the answer, if the transport can report warnings. */
type Speak = (gateway: TestGateway) => Promise<readonly string[] | undefined>;

const warningsIn = (headers: Headers) => headers.get('X-Warnings')?.split(', ') ?? [];

async function post(gateway: TestGateway, path: string, body: object): Promise<Response> {
  const answer = await gateway.send(path, { body, headers: { 'xi-api-key': gateway.key } });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return answer;
}
const heard = async (answer: Response) => {
  await answer.arrayBuffer();
  return warningsIn(answer.headers);
};

/** Sends the messages over a WebSocket. Returns the messages received until the socket is idle or closed. */
async function talk({ url, key }: TestGateway, path: string, messages: readonly object[]) {
  const options = { headers: { 'X-API-Key': key, 'xi-api-key': key } } as unknown as string[];
  const socket = new WebSocket(url.replace('http', 'ws') + path, options);
  const seen: Record<string, unknown>[] = [];
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') seen.push(JSON.parse(data));
  });
  await once(socket, 'open');
  for (const message of messages) socket.send(JSON.stringify(message));
  const isOver = () => seen.some(({ type, isFinal, done, error }) => type === 'done' || isFinal || done || error);
  while (!isOver()) await sleep(5);
  socket.close();
  return seen;
}

async function overRpc(gateway: TestGateway, kind: 'unary' | 'stream' | 'live') {
  const { url, key } = gateway;
  const message = { voiceId: 'tone-low', ...manner };
  const headers = { 'X-API-Key': key };
  const grpc = (await openCore(gateway)).clientOf(SpeechService);
  const metadata = { 'x-api-key': key };
  if (kind === 'unary') {
    const options: CallOptions = { headers };
    const connect = createClient(SpeechService, createConnectTransport({ baseUrl: url, httpVersion: '1.1' }));
    // This text differs from the text over REST, which is in the cache under the same key.
    const request = { ...message, text: 'Good night.', returnFormat: ReturnFormat.BUFFER };
    const { warnings } = await connect.synthesizeSpeech(request, options);
    expect((await connect.estimateSpeech({ ...message, textChunks: [text] }, options)).warnings).toEqual(warnings);
    return warnings;
  }
  if (kind === 'stream') {
    const events = await Array.fromAsync(grpc.stream('streamSpeech', { ...message, textChunks: [text] }, { metadata }));
    return events.flatMap(({ event }) => (event.case === 'info' ? event.value.warnings : []));
  }
  const events = await callLive(grpc, metadata, [
    { case: 'start', value: message },
    { case: 'text', value: { text } },
  ]);
  return events.flatMap((event) => (event.case === 'info' ? event.value.warnings : []));
}

const elevenLabs = '/v1/text-to-speech/tone-low';
const cartesia = {
  transcript: text,
  voice: { mode: 'id', id: 'tone-low' },
  output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 },
  generation_config: { emotion: 'excited' },
};
const query = new URLSearchParams({ ...voice, text, instructions, seed: String(seed) });
const live = { type: 'start', ...voice, ...manner };

const ways: [name: string, given: object, warnings: readonly string[] | undefined, speak: Speak][] = [
  ['REST, a link', manner, both, async (g) => heard(await post(g, '/api/audio/speech', { ...voice, text, ...manner }))],
  [
    'REST, a stream',
    manner,
    both,
    async (g) =>
      heard(await post(g, '/api/audio/speech', { ...voice, method: 'streaming', text_chunks: [text], ...manner })),
  ],
  ['SSE', manner, both, async (g) => heard(await g.send(`/api/audio/speech/sse?${query}`))],
  [
    'WebSocket',
    manner,
    both,
    async (g) => {
      const seen = await talk(g, '/api/audio/speech/live', [live, { type: 'text', text }, { type: 'end' }]);
      return seen.flatMap(({ warnings }) => (warnings as string[] | undefined) ?? []);
    },
  ],
  ['Connect', manner, both, (g) => overRpc(g, 'unary')],
  ['gRPC, a stream', manner, both, (g) => overRpc(g, 'stream')],
  ['gRPC, live', manner, both, (g) => overRpc(g, 'live')],
  [
    'OpenAI',
    manner,
    both,
    async (g) => heard(await post(g, '/v1/audio/speech', { voice: 'tone-low', input: text, ...manner })),
  ],
  ['ElevenLabs', { seed }, ['ignored:seed'], async (g) => heard(await post(g, elevenLabs, { text, seed }))],
  [
    'ElevenLabs, a WebSocket',
    { seed },
    undefined,
    async (g) => void (await talk(g, `${elevenLabs}/stream-input?seed=${seed}`, [{ text: `${text} ` }, { text: '' }])),
  ],
  ['Cartesia', emotion, ['ignored:instructions'], async (g) => heard(await post(g, '/tts/bytes', cartesia))],
  ['Cartesia, events', emotion, ['ignored:instructions'], async (g) => heard(await post(g, '/tts/sse', cartesia))],
  [
    'Cartesia, a WebSocket',
    emotion,
    undefined,
    async (g) => void (await talk(g, '/tts/websocket', [{ ...cartesia, context_id: 'a', continue: false }])),
  ],
];

const capable: { gateway?: TestGateway } = {};
const incapable: { gateway?: TestGateway } = {};
beforeAll(async () => {
  capable.gateway = await openTestGateway({ engine: { capabilities: { instructions: true, seed: true } } }, afterAll);
  incapable.gateway = await openTestGateway({}, afterAll);
});

describe.each(ways)('%s:', (_, given, warnings, speak) => {
  test('an engine that takes instructions and a seed gets them', async () => {
    const { tone } = capable.gateway!;
    const before = tone.segments.length;
    expect((await speak(capable.gateway!)) ?? []).toEqual([]);
    expect(tone.segments.slice(before)).toEqual([expect.objectContaining({ text: expect.any(String), ...given })]);
  });

  test('another one speaks all the same, and the warnings say so', async () => {
    const { tone } = incapable.gateway!;
    const before = tone.segments.length;
    expect(await speak(incapable.gateway!)).toEqual(warnings);
    const spoken = tone.segments.slice(before);
    expect(spoken).toHaveLength(1);
    expect(spoken[0]).not.toHaveProperty('instructions');
    expect(spoken[0]).not.toHaveProperty('seed');
  });
});

test('a job stores them, and every chapter is spoken with them', async () => {
  const { create, untilEnded, readJobs, tone } = await openJobsGateway({
    engine: { capabilities: { instructions: true, seed: true } },
  });
  expect(await untilEnded((await create(manner)).id)).toMatchObject({ status: 'succeeded' });
  expect(tone.segments.length).toBeGreaterThanOrEqual(3);
  for (const segment of tone.segments) expect(segment).toMatchObject(manner);
  const wrong = { ...voice, text, instructions: 'x'.repeat(2001), seed: -1 };
  expect((await readJobs('', { body: wrong })).details).toEqual([
    { field: 'seed', reason: 'range', message: 'must be 0 to 4294967295' },
    { field: 'instructions', reason: 'length', message: 'must be at most 2000 characters' },
  ]);
});

test('what is wrong with them is reported under the names of each API', async () => {
  const faultsOf = async (path: string, body: object) =>
    JSON.stringify(await (await capable.gateway!.send(path, { body, headers: { 'xi-api-key': 'x' } })).json());
  expect(await faultsOf('/v1/audio/speech', { input: text, instructions: 5 })).toContain('instructions');
  expect(await faultsOf(elevenLabs, { text, seed: -1 })).toContain('seed must be 0 to 4294967295');
  expect(await faultsOf('/tts/bytes', { ...cartesia, generation_config: { emotion: 5 } })).toContain(
    'generation_config.emotion must be text',
  );
});
