// Speaks over the APIs of the service, and of other projects' servers, and passes on the PCM as it arrives.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { WebSocket } from 'ws';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import type { Service } from '../../test/soak/open-service.ts';
import { eventsIn, soundIn } from '../../test/transports/http/event-reader.ts';
import { freePort } from '../measuring/free-port.ts';

/** `begin` is called if time counts from a later moment than the call. */
export type Speak = (text: string, hear: (pcm: Buffer) => void, begin: () => void) => Promise<void>;

const rateHz = 24_000;
const ignore = () => {};

async function read(answer: Response, hear: (bytes: Buffer) => void): Promise<void> {
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  for await (const bytes of answer.body!) hear(Buffer.from(bytes));
}

export function openWays({ url, key, grpcPort, ask, speak }: Service, voiceId: string, opened: AsyncDisposableStack) {
  const speech = createClient(SpeechService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` }));
  const headers = { 'x-api-key': key };
  const asked = { voice_id: voiceId, output_format: 'pcm', sample_rate: rateHz };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/audio/speech/live`, { headers });
  opened.defer(() => socket.terminate());
  const send = (message: object) => socket.send(JSON.stringify(message));
  const started = once(socket, 'open').then(() => send({ type: 'start', voice_id: voiceId, sample_rate: rateHz }));
  let hearLive: (pcm: Buffer) => void = ignore;
  let turn = Promise.withResolvers<void>();
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) return hearLive(data);
    const { type, message } = JSON.parse(data.toString());
    if (type === 'error') turn.reject(new Error(message));
    else if (type === 'flushed' || type === 'interrupted') turn.resolve();
  });
  const live: Speak = async (text, hear) => {
    await started;
    hearLive = hear;
    turn = Promise.withResolvers();
    send({ type: 'text', text });
    send({ type: 'flush' });
    await turn.promise;
  };
  const ways: Record<string, Speak> = {
    REST: async (text, hear) => read(await speak({ ...asked, method: 'streaming', text_chunks: [text] }), hear),
    async SSE(text, hear) {
      let rest = '';
      await read(await ask('/api/audio/speech/sse', { body: { ...asked, text } }), (bytes) => {
        rest += bytes;
        const end = rest.lastIndexOf('\n\n') + 2;
        if (end < 2) return;
        hear(soundIn(eventsIn(rest.slice(0, end))));
        rest = rest.slice(end);
      });
    },
    async gRPC(text, hear) {
      const asked = { voiceId, sampleRate: rateHz, textChunks: [text] };
      for await (const { event } of speech.streamSpeech(asked, { headers }))
        if (event.case === 'audio') hear(Buffer.from(event.value.audio));
    },
    live,
    /** The turn before is interrupted at its first sound. */
    async 'live, after an interrupt'(text, hear, begin) {
      const interrupt = () => {
        hearLive = ignore;
        send({ type: 'interrupt', played_ms: 0 });
      };
      await live(`${text} `.repeat(3), interrupt, ignore);
      begin();
      await live(text, hear, ignore);
    },
  };
  return { rateHz, ways };
}

/** Paths of Piper's server, which sends a WAV file, and of OpenAI's API; bytes before the sound; and the bodies. */
const peerApis = {
  piper: ['/synthesize', 44, (text: string) => ({ text })],
  openai: [
    '/v1/audio/speech',
    0,
    (input: string) => ({ model: 'kokoro', voice: 'af_heart', input, response_format: 'pcm', stream: true }),
  ],
} as const;
export type PeerApi = keyof typeof peerApis;

export async function openPeer(command: string, api: PeerApi, rateHz: number, opened: AsyncDisposableStack) {
  const [path, headerBytes, toBody] = peerApis[api];
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = spawn('sh', ['-c', `exec ${command.replaceAll('{port}', new URL(url).port)}`], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  opened.defer(async () => {
    child.kill();
    await exited;
  });
  const REST: Speak = async (text, hear) => {
    const headers = { 'content-type': 'application/json' };
    let left = headerBytes as number;
    await read(await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(toBody(text)) }), (bytes) => {
      hear(bytes.subarray(left));
      left = Math.max(0, left - bytes.length);
    });
  };
  const isReady = () => REST('One.', ignore, ignore).then(() => true, ignore);
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${command} has ended`);
    await sleep(200);
  }
  return { rateHz, ways: { REST }, pids: () => [child.pid!] };
}
