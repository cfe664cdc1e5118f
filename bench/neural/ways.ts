// Speaks over the APIs of a service, and passes on the PCM as it arrives.
import { once } from 'node:events';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { WebSocket } from 'ws';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import type { Service } from '../../test/soak/open-service.ts';

/** `begin` is called if time counts from a later moment than the call. */
export type Speak = (text: string, hear: (pcm: Buffer) => void, begin: () => void) => Promise<void>;

export const sampleRateHz = 24_000;

/** Reads the body of an answer that is PCM. */
export async function readPcm(answer: Response, hear: (pcm: Buffer) => void): Promise<void> {
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  for await (const bytes of answer.body!) hear(Buffer.from(bytes));
}

export function waysOf(service: Service, voiceId: string, opened: AsyncDisposableStack) {
  const speech = createClient(SpeechService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${service.grpcPort}` }));
  const options = { headers: { 'x-api-key': service.key } };
  const asked = { voice_id: voiceId, output_format: 'pcm', sample_rate: sampleRateHz };
  const live = openLive(service, voiceId);
  opened.defer(async () => (await live).close());
  return {
    async REST(text, hear) {
      await readPcm(await service.speak({ ...asked, method: 'streaming', text_chunks: [text] }), hear);
    },
    async SSE(text, hear) {
      const answer = await service.ask('/api/audio/speech/sse', { body: { ...asked, text } });
      let rest = '';
      await readPcm(answer, (bytes) => {
        const lines = (rest + bytes.toString()).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          const event = line.startsWith('data: ') ? JSON.parse(line.slice(6)) : {};
          if (event.type === 'speech.audio.delta') hear(Buffer.from(event.audio, 'base64'));
        }
      });
    },
    async gRPC(text, hear) {
      for await (const { event } of speech.streamSpeech(
        { voiceId, sampleRate: sampleRateHz, textChunks: [text] },
        options,
      ))
        if (event.case === 'audio') hear(Buffer.from(event.value.audio));
    },
    live: async (text, hear) => (await live).turn(text, hear),
    /** Like `live`, but the turn before is interrupted at its first sound. */
    async interrupted(text, hear, begin) {
      const { turn, interrupt } = await live;
      await turn(`${text} `.repeat(3), interrupt);
      begin();
      await turn(text, hear);
    },
  } satisfies Record<string, Speak>;
}

async function openLive({ url, key }: Service, voiceId: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/audio/speech/live`, { headers: { 'X-API-Key': key } });
  await once(socket, 'open');
  const send = (message: object) => socket.send(JSON.stringify(message));
  send({ type: 'start', voice_id: voiceId, sample_rate: sampleRateHz });
  let hear = (_: Buffer) => {};
  let ended: PromiseWithResolvers<void>;
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) return hear(data);
    const { type, message } = JSON.parse(data.toString());
    if (type === 'error') ended.reject(new Error(message));
    else if (type === 'flushed' || type === 'interrupted') ended.resolve();
  });
  return {
    async turn(text: string, to: (pcm: Buffer) => void): Promise<void> {
      hear = to;
      ended = Promise.withResolvers();
      send({ type: 'text', text });
      send({ type: 'flush' });
      await ended.promise;
    },
    interrupt() {
      hear = () => {};
      send({ type: 'interrupt', played_ms: 0 });
    },
    close: () => socket.terminate(),
  };
}
