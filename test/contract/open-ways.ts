// Requests speech in all ways from a whole service with one engine. Each returns raw samples at 24 kHz, or a file in a
// different format. The ways are compared by the segments that they request. Segments are cached, so many ways cost
// little.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OutputFormat, ReturnFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { sayCommand } from '../../src/app/cli/say.ts';
import type { FormatName } from '../../src/audio/formats.ts';
import type { Engine, SpokenPcm } from '../../src/engines/engine.ts';
import type { Marking } from '../../src/speech/cast.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openWyomingServer } from '../../src/transports/vendors/wyoming/wyoming-server.ts';
import { readEvents, soundIn } from '../transports/http/event-reader.ts';
import { bytesOf, openTestGateway } from '../transports/http/open-gateway.ts';
import { callLive } from '../transports/http/talk-live.ts';
import { openCore } from '../transports/rpc/open-core.ts';
import { openClient } from '../transports/vendors/wyoming/wyoming-client.ts';

export interface AskedText {
  voiceId: string;
  languageCode: string;
  text: string;
}

/** Splits a text into pieces, for APIs that accept pieces. */
export type Pieces = (text: string) => string[];
export const wholeText: Pieces = (text) => [text];
export const wordByWord: Pieces = (text) => text.match(/\S+\s*/g)!;
export const oddPieces: Pieces = (text) => {
  const pieces: string[] = [];
  const chars = [...text];
  for (let i = 0; chars.length > 0; i++) pieces.push(chars.splice(0, [1, 7, 2, 13, 3, 5][i % 6]).join(''));
  return pieces;
};

export type Ask = (asked: AskedText, pieces: Pieces) => Promise<Buffer>;

const rateHz = 24_000;

/** Synthesizes each segment only once. */
function withMemory(engine: Engine): Engine {
  const known = new Map<string, Promise<readonly SpokenPcm[]>>();
  return {
    ...engine,
    async *speak(segment, signal) {
      const { voice, urgent: _, isBackground: __, ...how } = segment;
      const key = JSON.stringify([voice.voiceId, how]);
      if (!known.has(key)) known.set(key, Array.fromAsync(engine.speak(segment, new AbortController().signal)));
      signal.throwIfAborted();
      yield* await known.get(key)!;
    },
  };
}

interface WaysOptions {
  format?: Exclude<FormatName, 'ulaw' | 'alaw'>;
  marking?: Marking;
  /** Whether the caller is an admin, who may use the voices of all accounts. */
  isAdmin?: boolean;
}

export async function openWays(
  real: Engine,
  onClose: (close: () => Promise<void>) => void,
  { format = 'pcm', marking, isAdmin = true }: WaysOptions = {},
) {
  const engine = withMemory(real);
  const gateway = await openTestGateway({ engines: [engine], ...(marking && { marking }) }, onClose);
  const { url, api, speech } = gateway;
  const key = await gateway.makeKey([
    ...(isAdmin ? ['admin'] : []),
    'speech:synthesize',
    'speech:stream',
    'voices:read',
    'jobs:read',
    'jobs:write',
    'voices:write',
  ]);
  const onFault = (fault: unknown) => void gateway.faults.push(fault);
  const address = { host: '127.0.0.1', port: 0 };
  const listener = { api, key, address, allowed: [], onRefused() {}, onFault };
  const wyomingServer = await openWyomingServer(listener);
  const grpc = (await openCore(gateway, onClose)).clientOf(SpeechService);
  const headers = { 'X-API-Key': key, 'xi-api-key': key };
  const metadata = { 'x-api-key': key, 'cache-control': 'no-cache' };
  onClose(async () => {
    await wyomingServer.drain(0);
    await real.close();
  });

  const post = async (path: string, body: object): Promise<Response> => {
    const asJson = { ...headers, 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' };
    const answer = await fetch(url + path, { method: 'POST', headers: asJson, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const rest = ({ voiceId: voice_id, languageCode: language_code }: AskedText) => ({
    ...{ voice_id, language_code, output_format: format, sample_rate: rateHz },
  });
  const rpc = ({ voiceId, languageCode }: AskedText) => ({
    ...{ voiceId, languageCode, outputFormat: OutputFormat[format.toUpperCase() as 'PCM'], sampleRate: rateHz },
  });

  /** The messages of a WebSocket until it closes or `isLast` returns true. */
  const talk = (path: string, messages: readonly object[], isLast = (_: Message) => false): Promise<Message[]> => {
    const socket = new WebSocket(url.replace('http', 'ws') + path, { headers } as unknown as string[]);
    socket.binaryType = 'arraybuffer';
    const seen: Message[] = [];
    return new Promise((resolve, reject) => {
      socket.addEventListener('open', () => {
        for (const message of messages) socket.send(JSON.stringify(message));
      });
      socket.addEventListener('message', ({ data }) => {
        const message = typeof data === 'string' ? JSON.parse(data) : { audio: Buffer.from(data).toString('base64') };
        if (message.error || message.type === 'error') reject(new Error(JSON.stringify(message)));
        seen.push(message);
        if (isLast(message)) socket.close();
      });
      socket.addEventListener('error', () => reject(new Error(`${path} failed`)));
      socket.addEventListener('close', () => resolve(seen));
    });
  };
  const soundOf = (messages: readonly Message[], member: 'audio' | 'data' = 'audio') =>
    Buffer.concat(messages.map((message) => Buffer.from(message[member] ?? '', 'base64')));

  const elevenLabs = (voiceId: string, rest: string) =>
    `/v1/text-to-speech/${voiceId}${rest}output_format=${format}_24000`;
  const elevenLabsSocket =
    (query = ''): Ask =>
    async ({ voiceId, text }, pieces) => {
      const messages = [' ', ...pieces(text), ''].map((piece) => ({ text: piece }));
      return soundOf(await talk(elevenLabs(voiceId, `/stream-input?${query}`), messages));
    };
  const cartesia = ({ voiceId: id, languageCode: language }: AskedText) => ({
    ...{ model_id: 'sonic-3', voice: { mode: 'id', id }, language },
    output_format: { container: format === 'pcm' ? 'raw' : format, encoding: 'pcm_s16le', sample_rate: rateHz },
  });
  const wyoming = async (voiceId: string, events: readonly (readonly [string, object?])[], last: string) => {
    const { socket, send, until } = openClient(wyomingServer.port);
    for (const [type, data] of events) send(type, { ...data, voice: { name: voiceId } });
    const seen = await until(last);
    socket.end();
    if (seen.at(-1)?.type !== last) throw new Error(JSON.stringify(seen.at(-1)));
    return Buffer.concat(seen.flatMap(({ type, payload }) => (type === 'audio-chunk' ? [payload] : [])));
  };

  /** Functions that send a complete text. */
  const whole: Record<string, (asked: AskedText) => Promise<Buffer>> = {
    'REST, buffer': async (asked) =>
      bytesOf(await post('/api/audio/speech', { ...rest(asked), text: asked.text, return_format: 'buffer' })),
    async 'REST, link'(asked) {
      const answer = await post('/api/audio/speech', { ...rest(asked), text: asked.text });
      const { audio_url } = (await answer.json()) as { audio_url: string };
      return bytesOf(await fetch(gateway.here(audio_url)));
    },
    'REST, streaming': async (asked) =>
      bytesOf(await post('/api/audio/speech', { ...rest(asked), method: 'streaming', text_chunks: [asked.text] })),
    SSE: async (asked) =>
      soundIn(await readEvents(await post('/api/audio/speech/sse', { ...rest(asked), text_chunks: [asked.text] }))),
    async 'gRPC, unary'(asked) {
      const request = { ...rpc(asked), text: asked.text, returnFormat: ReturnFormat.BUFFER };
      return Buffer.from((await grpc.unary('synthesizeSpeech', request, { metadata })).audio.value as Uint8Array);
    },
    async 'gRPC, stream'(asked) {
      const events = grpc.stream('streamSpeech', { ...rpc(asked), textChunks: [asked.text] }, { metadata });
      const pieces: Uint8Array[] = [];
      for await (const { event } of events) if (event.case === 'audio') pieces.push(event.value.audio);
      return Buffer.concat(pieces);
    },
    OpenAI: async ({ voiceId: voice, text: input }) =>
      bytesOf(await post('/v1/audio/speech', { model: 'tts-1', voice, input, response_format: format })),
    'ElevenLabs, HTTP': async ({ voiceId, text }) => bytesOf(await post(elevenLabs(voiceId, '?'), { text })),
    'Cartesia, bytes': async (asked) =>
      bytesOf(await post('/tts/bytes', { ...cartesia(asked), transcript: asked.text })),
    async 'Cartesia, SSE'(asked) {
      const body = await (await post('/tts/sse', { ...cartesia(asked), transcript: asked.text })).text();
      return soundOf(
        [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!)),
        'data',
      );
    },
    Wyoming: ({ voiceId, text }) => wyoming(voiceId, [['synthesize', { text }]], 'audio-stop'),
    async say({ voiceId, languageCode, text }) {
      const output = join(gateway.folder, `said.${format}`);
      const app = { voices: createVoices([engine]), speech, close: async () => {} };
      const args = [text, '-v', voiceId, '-l', languageCode, '--sample-rate', String(rateHz), '-o', output];
      const { signal } = new AbortController();
      await sayCommand.run({ args, signal, openApp: async () => app, print() {} } as never);
      return readFileSync(output);
    },
  };

  /** Functions that send a text piece by piece, as if it were being written. */
  const live: Record<string, Ask> = {
    async 'gRPC, live'(asked, pieces) {
      const events = await callLive(grpc, metadata, [
        { case: 'start', value: { ...rpc(asked), bufferMs: 10_000 } },
        ...pieces(asked.text).map((text) => ({ case: 'text', value: { text } })),
        { case: 'end', value: {} },
      ]);
      return Buffer.concat(events.flatMap((event) => (event.case === 'audio' ? [event.value.audio] : [])));
    },
    async 'WebSocket, live'(asked, pieces) {
      const texts = pieces(asked.text).map((text) => ({ type: 'text', text }));
      const start = { type: 'start', ...rest(asked), buffer_ms: 10_000 };
      return soundOf(await talk('/api/audio/speech/live', [start, ...texts, { type: 'end' }]));
    },
    'ElevenLabs, socket': elevenLabsSocket(),
    'ElevenLabs, socket with auto_mode': elevenLabsSocket('auto_mode=true&'),
    async 'Cartesia, socket'(asked, pieces) {
      const all = pieces(asked.text);
      const messages = all.map((transcript, i) => ({
        ...{ ...cartesia(asked), context_id: 'one', transcript, continue: i < all.length - 1 },
      }));
      return soundOf(await talk('/tts/websocket', messages, ({ type }) => type === 'done'), 'data');
    },
    'Wyoming, live': ({ voiceId, text }, pieces) =>
      wyoming(
        voiceId,
        [
          ['synthesize-start'],
          ...pieces(text).map((piece) => ['synthesize-chunk', { text: piece }] as const),
          ['synthesize-stop'],
        ],
        'synthesize-stopped',
      ),
  };

  /**
   * Speaks each text as a chapter of one job. Returns the samples of each chapter, from WAV; in another format, the
   * files of the chapters and the joined file.
   */
  const speakChapters = async (all: readonly AskedText[]): Promise<Buffer[]> => {
    const chapters = all.map(({ voiceId: voice_id, languageCode: language_code, text }) => ({
      ...{ voice_id, language_code, text },
    }));
    const { voiceId: voice_id, languageCode: language_code } = all[0]!;
    const job = {
      voice_id,
      language_code,
      output_format: format === 'pcm' ? 'wav' : format,
      sample_rate: rateHz,
      chapters,
    };
    let told = (await (await post('/api/audio/jobs', job)).json()) as JobJson;
    while (!told.ended_at) {
      await sleep(50);
      told = (await (await fetch(`${url}/api/audio/jobs/${told.id}`, { headers })).json()) as JobJson;
    }
    if (told.status !== 'succeeded') throw new Error(JSON.stringify(told));
    const files = [...told.chapters, ...(format === 'pcm' ? [] : [told])];
    return Promise.all(
      files.map(async ({ audio_url }) => {
        const file = await bytesOf(await fetch(gateway.here(audio_url), { headers }));
        if (format !== 'pcm') return file;
        const at = file.indexOf('data') + 8;
        return file.subarray(at, at + file.readUInt32LE(at - 4));
      }),
    );
  };

  return { voices: engine.voices, whole, live, speakChapters, talk, post, bytesOf, gateway, headers };
}

interface JobJson {
  id: string;
  status: string;
  ended_at: string | null;
  audio_url: string;
  chapters: { audio_url: string }[];
}

interface Message {
  type?: string;
  audio?: string;
  data?: string;
  error?: unknown;
}
