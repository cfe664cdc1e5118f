// Sends inputs to the APIs of a real service in this process: REST bodies, raw HTTP/1.1 bytes, and messages over gRPC
// and the live WebSocket. No input may cause an internal error, remain unanswered, or be logged as a bug.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { WebSocket } from 'ws';
import { LiveSpeechRequestSchema, StreamSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { firstKeyScopes, operator } from '../../src/accounts/keys/caller.ts';
import { openKeys } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { defineTone } from '../engines/tone-engine.ts';
import { envelope } from '../transports/rpc/raw-grpc.ts';
import type { OpenTarget, Target } from './target.ts';

const answerMsMax = 20_000;

/** Opens a service with the tone engine. Its jobs are stored, but not spoken. */
export async function openFuzzedService() {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-fuzz-'));
  const definitions = [defineTone({ languageCodes: ['en', 'de'] })];
  const env = {
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0', SONANT_DRAIN_SECONDS: '0' },
    ...{ SONANT_CONNECTIONS_PER_ADDRESS: '4096', SONANT_DATA_DIR: folder, SONANT_JOB_CHAPTERS: '0' },
    ...{ SONANT_MODELS_OFFLINE: '1', SONANT_BAD_KEYS_PER_MINUTE: '1000000', SONANT_VOICES_PER_ACCOUNT: '10000' },
  };
  const config = loadConfig({ env, folder, engines: definitions });
  const bugs: string[] = [];
  const log = createLog('error', (line) => bugs.push(line));
  const service = await openService({ config, definitions, log, isSinglePort: false });
  const keys = await openKeys(config);
  const limits = { requestsPerMinute: 1_000_000, concurrency: 1_000 };
  const makeKey = async () => (await keys.management.create({ scopes: firstKeyScopes, limits }, operator)).key;
  const key = await makeKey();
  return {
    url: `http://127.0.0.1:${service.httpPort}`,
    httpPort: service.httpPort,
    grpcPort: service.grpcPort,
    key,
    makeKey,
    /** Throws if the log reports a bug or the service does not answer. */
    async check() {
      const [bug] = bugs.splice(0);
      if (bug !== undefined) throw new Error(bug);
      const { status } = await fetch(`http://127.0.0.1:${service.httpPort}/healthz`, { signal: within() });
      if (status !== 200) throw new Error(`/healthz answers ${status}`);
    },
    async close() {
      await keys.close();
      await service.drain();
      rmSync(folder, { recursive: true });
    },
  };
}

const within = () => AbortSignal.timeout(answerMsMax);
type Fuzzed = Awaited<ReturnType<typeof openFuzzedService>>;

const onService =
  (describe: (service: Fuzzed) => Omit<Target, 'close'>): OpenTarget =>
  async () => {
    const service = await openFuzzedService();
    const target = describe(service);
    const run = async (input: Buffer) => {
      await target.run(input);
      await service.check();
    };
    return { ...target, run, close: service.close };
  };

const bodies = [
  { voice_id: 'tone-low', text: 'Hello there.' },
  { voice_id: 'tone-low', text: ['One.', 'Two.'], output_format: 'mp3', sample_rate: 44100, return_format: 'buffer' },
  { voice_id: 'tone-low', ssml: '<speak>a<break time="1s"/>b</speak>', captions: ['srt'], speaking_rate: 1.5 },
].map((body) => Buffer.from(JSON.stringify({ return_format: 'buffer', ...body })));
const bodyWords = [
  'null',
  '[]',
  '{}',
  '"__proto__":{}',
  '1e999',
  '-0',
  '"\\ud800"',
  'true',
  '"markup":"pauses",',
  ',"text":1',
  '\\u0000',
];

const isServerFault = (status: number): boolean => status >= 500 && status !== 503;

const rest = onService(({ url, key }) => ({
  name: 'REST',
  seeds: bodies,
  words: bodyWords,
  async run(input) {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body: input, signal: within() });
    await answer.arrayBuffer();
    if (isServerFault(answer.status)) throw new Error(`the answer is ${answer.status}`);
  },
}));

const http = onService(({ httpPort, key }) => ({
  name: 'HTTP',
  seeds: bodies.map((body) =>
    Buffer.concat([
      Buffer.from(`POST /api/audio/speech HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\n`),
      Buffer.from(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`),
      body,
    ]),
  ),
  words: [
    '\r\n',
    'Transfer-Encoding: chunked\r\n',
    '0\r\n\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: websocket\r\n',
    '%',
    'HTTP/2.0',
    '\u0000',
  ],
  run: (input) =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(httpPort, '127.0.0.1', () => socket.end(input));
      socket.setTimeout(answerMsMax, () => {
        socket.destroy();
        reject(new Error('the connection stays open without an answer'));
      });
      let answer = '';
      socket.on('data', (bytes) => {
        if (answer.length < 100) answer += bytes.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        const status = Number(/^HTTP\/1\.\d (\d+)/.exec(answer)?.[1] ?? 0);
        if (isServerFault(status)) reject(new Error(`the answer is ${status}`));
        else resolve();
      });
    }),
}));

/** The status codes UNKNOWN and INTERNAL, which no input of a caller may cause. */
const grpcBugs = new Set(['2', '13']);

const grpc = onService(({ grpcPort, key }) => ({
  name: 'gRPC',
  seeds: [
    toBinary(
      StreamSpeechRequestSchema,
      create(StreamSpeechRequestSchema, { voiceId: 'tone-low', text: ['Hello.'] } as never),
    ),
    toBinary(LiveSpeechRequestSchema, create(LiveSpeechRequestSchema, {})),
  ].map((message) => envelope(message)),
  words: [
    '\u0000\u0000\u0000\u0000\u0001',
    '\u00ff\u00ff\u00ff\u00ff\u000f',
    '\u0001',
    'tone-low',
    '\u0080\u0080\u0080\u0080',
  ],
  run: (input) =>
    new Promise<void>((resolve, reject) => {
      const session = connectHttp2(`http://127.0.0.1:${grpcPort}`);
      session.on('error', () => {});
      const method = input.length % 2 === 0 ? 'StreamSpeech' : 'LiveSpeech';
      const stream = session.request({
        ':method': 'POST',
        ':path': `/sonant.v1.SpeechService/${method}`,
        'content-type': 'application/grpc',
        'x-api-key': key,
        te: 'trailers',
      });
      let status: unknown;
      stream.on('response', (headers) => (status = headers['grpc-status']));
      stream.on('trailers', (headers) => (status = headers['grpc-status']));
      stream.on('data', () => {});
      stream.on('error', () => {});
      const timer = setTimeout(() => reject(new Error('the call has no end')), answerMsMax);
      stream.on('close', () => {
        clearTimeout(timer);
        session.destroy();
        if (grpcBugs.has(String(status))) reject(new Error(`the status is ${status}`));
        else resolve();
      });
      stream.end(input);
    }),
}));

const live = onService(({ url, key }) => ({
  name: 'live WebSocket',
  seeds: [
    '{"type":"start","voice_id":"tone-low","output_format":"pcm"}\n{"type":"text","text":"Hello there. "}\n{"type":"flush"}\n{"type":"end"}',
    '{"type":"start","voice_id":"tone-low"}\n{"type":"text","text":"One two three."}\n{"type":"interrupt"}\n{"type":"text","text":"Four."}\n{"type":"end"}',
  ].map((each) => Buffer.from(each)),
  words: [
    '\n',
    '{"type":"flush"}\n',
    '{"type":"interrupt"}\n',
    'null',
    '"text":1',
    '{"type":"end"}\n',
    '\\ud800',
    '[]',
  ],
  run: (input) =>
    new Promise<void>((resolve, reject) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/api/audio/speech/live`, {
        headers: { 'X-API-Key': key },
      });
      // A session without an end message continues, so the peer disconnects.
      const timer = setTimeout(() => socket.close(), 200);
      socket.on('open', () => {
        for (const line of input.toString('utf8').split('\n')) socket.send(line);
      });
      socket.on('error', () => {});
      let fault: string | undefined;
      socket.on('message', (message) => {
        const text = message.toString();
        if (text.includes('"internal_error"')) fault = text;
      });
      socket.on('close', () => {
        clearTimeout(timer);
        if (fault === undefined) resolve();
        else reject(new Error(fault));
      });
    }),
}));

export const apiTargets: readonly OpenTarget[] = [rest, http, grpc, live];
