// Calls the APIs that checking-client.ts does not cover: the vendors' APIs, live speech, Wyoming, a remote engine,
// callers that disconnect and resume, and slow readers. The answers while everything works are recorded, and later
// answers must equal them.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { SpeechService, type StreamSpeechResponse } from '../../gen/sonant/v1/speech_pb.ts';
import { sentences } from '../sentences.ts';
import { eventsIn, soundIn } from '../transports/http/event-reader.ts';
import { openGrpcClient } from '../transports/rpc/grpc-client.ts';
import { openClient as openWyomingClient } from '../transports/vendors/wyoming/wyoming-client.ts';
import { giveUpMs, Pace, RequestClient, readAll, Seen, same, seen, type Watch } from './checked-requests.ts';

export interface ApiClientOptions {
  url: string;
  target: string;
  key: string;
  wyomingPorts: readonly number[];
}

export type ApiCall = (watch: Watch) => Promise<void>;

export interface ApiClients {
  readonly apis: Readonly<Record<string, ApiCall>>;
  /** From now on, answers must equal the recorded answers. */
  endLearning(): void;
  close(): void;
}

const voice = 'arthur';
/** A voice of the remote engine. */
const farVoice = 'tone-low';
const rateHz = 24_000;
const slowBytesPerSecond = 60_000;
const textCount = 2;
const short = Array.from({ length: textCount }, (_, n) => `${sentences[n]} ${sentences[n + 7]}`);
const long = Array.from({ length: 3 }, (_, n) => sentences.slice(3 * n, 3 * n + 3).join(' '));

interface Message {
  type?: string;
  error?: string;
  error_code?: string;
  audio?: string;
  data?: string;
  isFinal?: boolean;
  done?: boolean;
}

export function openApiClients({ url, target, key, wyomingPorts }: ApiClientOptions): ApiClients {
  const http = new RequestClient(url, key);
  const speech = openGrpcClient(SpeechService, target, { 'grpc.enable_retries': 0 });
  const known = new Map<string, Buffer>();
  let isLearning = true;
  const turns = new Map<string, number>();
  const next = (api: string) => {
    const turn = turns.get(api) ?? 0;
    turns.set(api, turn + 1);
    return turn % textCount;
  };
  const check = (api: string, heard: Buffer, watch: Watch) => {
    if (heard.length < 1000) throw new Error(`only ${heard.length} bytes`);
    if (isLearning) known.set(api, known.get(api) ?? heard);
    same(heard, known.get(api)!, watch);
  };
  const open = (path: string) => new TalkSocket(url.replace('http', 'ws') + path, key);
  const postAndCheck =
    (api: string, path: string, bodyOf: (text: string) => object): ApiCall =>
    async (watch) => {
      const n = next(api);
      check(`${api} ${n}`, await readAll(await http.post(path, bodyOf(short[n]!), watch), watch), watch);
    };
  const streamBody = { voice_id: voice, text_chunks: long, output_format: 'pcm', sample_rate: 48_000 };
  const eventsPath = '/api/audio/speech/sse';

  const apis: Record<string, ApiCall> = {
    openai: postAndCheck('openai', '/v1/audio/speech', (input) => ({
      ...{ model: 'tts-1', voice, input, response_format: 'pcm' },
    })),
    elevenlabs: postAndCheck('elevenlabs', `/v1/text-to-speech/${voice}/stream?output_format=pcm_24000`, (text) => ({
      ...{ text, model_id: 'eleven_multilingual_v2' },
    })),
    cartesia: postAndCheck('cartesia', '/tts/bytes', (transcript) => ({ ...cartesiaOptions, transcript })),
    'engine elsewhere': postAndCheck('engine elsewhere', '/api/audio/speech', (text) => ({
      ...{ voice_id: farVoice, text_chunks: [text], method: 'streaming', output_format: 'pcm' },
    })),
    async 'elevenlabs socket'(watch) {
      const n = next('elevenlabs socket');
      const socket = open(`/v1/text-to-speech/${voice}/stream-input?output_format=pcm_24000`);
      await socket.talk([{ text: `${short[n]} ` }, { text: '' }], ({ isFinal }) => isFinal === true, watch);
      check(
        `socket ${n}`,
        socket.sound(({ audio }) => audio),
        watch,
      );
    },
    async 'cartesia socket'(watch) {
      const n = next('cartesia socket');
      const socket = open('/tts/websocket');
      const asked = { ...cartesiaOptions, context_id: 'one', transcript: short[n] };
      await socket.talk([asked], ({ type }) => type === 'done', watch);
      check(
        `socket ${n}`,
        socket.sound(({ data }) => data),
        watch,
      );
    },
    async live(watch) {
      const n = next('live');
      const socket = open('/api/audio/speech/live');
      const start = { type: 'start', voice_id: voice, sample_rate: rateHz, buffer_ms: 10_000 };
      const text = short[n]!;
      const texts = [text.slice(0, 17), text.slice(17)].map((part) => ({ type: 'text', text: part }));
      await socket.talk([start, ...texts, { type: 'end' }], ({ type }) => type === 'done', watch);
      check(
        `live ${n}`,
        socket.sound(({ audio }) => audio),
        watch,
      );
    },
    async 'live grpc'(watch) {
      const n = next('live grpc');
      const call = speech.bidi('liveSpeech', { metadata: { 'x-api-key': key }, timeoutMs: giveUpMs });
      call.write({ request: { case: 'start', value: { voiceId: voice, sampleRate: rateHz, bufferMs: 10_000 } } });
      call.write({ request: { case: 'text', value: { text: short[n]! } } });
      call.end();
      const pieces: Uint8Array[] = [];
      let isDone = false;
      const read = async () => {
        for await (const { event } of call) {
          watch.heard();
          if (event.case === 'audio') pieces.push(event.value.audio);
          if (event.case === 'done') isDone = true;
        }
      };
      await seen(read());
      if (!isDone) throw new Error('a status of OK, and not done');
      check(`live ${n}`, Buffer.concat(pieces), watch);
    },
    async wyoming(watch) {
      const n = next('wyoming');
      const port = wyomingPorts[n % wyomingPorts.length]!;
      const client = openWyomingClient(port);
      client.socket.on('error', () => {});
      client.socket.setTimeout(giveUpMs, () => client.socket.destroy());
      const pieces: Buffer[] = [];
      try {
        client.send('synthesize', { text: short[n], voice: { name: voice } });
        for (;;) {
          const event = await client.next().catch(() => undefined);
          watch.heard();
          if (event === undefined) throw new Seen('broken');
          if (event.type === 'error') throw new Seen(`event ${event.data.code}`);
          if (event.type === 'audio-chunk') pieces.push(event.payload);
          if (event.type === 'audio-stop') break;
        }
      } finally {
        client.socket.destroy();
      }
      check(`wyoming ${n}`, Buffer.concat(pieces), watch);
    },
    async 'slow reader'(watch) {
      const answer = await http.post('/api/audio/speech', { ...streamBody, method: 'streaming' }, watch);
      check('long', await readAll(answer, watch, isLearning ? undefined : slowBytesPerSecond), watch);
    },
    /** An event stream that is cut anywhere, and resumed from there. */
    async 'events resumed'(watch) {
      const answer = await http.post(eventsPath, streamBody, watch);
      const id = answer.headers.get('X-Audio-Id');
      const first = eventsIn(await readUntil(answer, Math.random() * 3_000_000, watch));
      await sleep(Math.random() * 1000);
      const lastId = first.at(-1)?.id;
      const headers: Record<string, string> = lastId ? { 'Last-Event-ID': lastId } : {};
      const rest = await http.ask(`${eventsPath}/${id}`, { headers }, watch);
      const events = [...first, ...eventsIn((await readAll(rest, watch)).toString())];
      const last = events.at(-1);
      if (last?.event === 'error') throw new Seen(`event ${last.data.error}`);
      if (last?.event !== 'speech.audio.done') throw new Seen('broken');
      check('long', soundIn(events), watch);
    },
    async 'stream left'(watch) {
      const answer = await http.post('/api/audio/speech', { ...streamBody, method: 'streaming' }, watch);
      await readUntil(answer, Math.random() * 1_000_000, watch);
    },
    async 'events left'(watch) {
      await readUntil(await http.post(eventsPath, streamBody, watch), Math.random() * 1_000_000, watch);
    },
    async 'grpc stream left'(watch) {
      const request = { voiceId: voice, textChunks: long, sampleRate: 48_000 };
      const call = speech.stream('streamSpeech', request, { metadata: { 'x-api-key': key }, timeoutMs: giveUpMs });
      const enough = Math.random() * 1_000_000;
      const read = async () => {
        let bytes = 0;
        for await (const { event } of call as AsyncIterable<StreamSpeechResponse>) {
          watch.heard();
          bytes += event.case === 'audio' ? event.value.audio.length : 0;
          if (bytes > enough) return;
        }
      };
      await seen(read());
    },
    async 'live left'(watch) {
      const socket = open('/api/audio/speech/live');
      const start = { type: 'start', voice_id: voice, sample_rate: 48_000 };
      const enough = Math.random() * 1_000_000;
      await socket.talk([start, { type: 'text', text: long.join(' ') }], () => socket.bytes > enough, watch);
    },
    /** Requests one sentence, and measures the first audio. */
    async probe(watch) {
      const body = { voice_id: voice, text_chunks: [sentences[1]], method: 'streaming', output_format: 'pcm' };
      check('probe', await readAll(await http.post('/api/audio/speech', body, watch), watch), watch);
    },
  };
  return {
    apis,
    endLearning() {
      isLearning = false;
    },
    close: () => speech.close(),
  };
}

const cartesiaOptions = {
  ...{ model_id: 'sonic-3', voice: { mode: 'id', id: voice } },
  output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: rateHz },
};

/** Reads this many bytes, and disconnects. */
async function readUntil(answer: Response, enough: number, watch: Watch): Promise<string> {
  const pieces: Uint8Array[] = [];
  const pace = new Pace(watch, 1_000_000);
  let bytes = 0;
  try {
    for await (const piece of answer.body!) {
      watch.heard();
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > enough) break;
      await pace.keep(piece.length);
    }
  } catch {
    throw new Seen('broken');
  }
  return Buffer.concat(pieces).toString();
}

/** A WebSocket on which all messages are sent at once, and which is closed after enough was received. */
class TalkSocket {
  readonly #socket: WebSocket;
  readonly #frames: Buffer[] = [];
  readonly #messages: Message[] = [];
  bytes = 0;

  constructor(url: string, key: string) {
    this.#socket = new WebSocket(url, { headers: { 'X-API-Key': key } });
  }

  async talk(said: readonly object[], isEnough: (message: Message) => boolean, watch: Watch): Promise<void> {
    const socket = this.#socket;
    const over = Promise.withResolvers<void>();
    over.promise.catch(() => {});
    const timer = setTimeout(() => over.reject(new Error('nothing for ever')), giveUpMs);
    socket.on('unexpected-response', (_, { statusCode }) => over.reject(new Seen(`${statusCode} at the handshake`)));
    socket.on('error', () => over.reject(new Seen('no answer')));
    socket.on('close', (code) => over.reject(new Seen(`closed ${code}`)));
    socket.on('message', (data: Buffer, isBinary) => {
      watch.heard();
      this.bytes += data.length;
      if (isBinary) this.#frames.push(data);
      const message: Message = isBinary ? {} : JSON.parse(data.toString());
      if (!isBinary) this.#messages.push(message);
      if (message.error !== undefined) over.reject(new Seen(`message ${message.error_code ?? message.error}`));
      else if (isEnough(message)) over.resolve();
    });
    socket.on('open', () => {
      for (const message of said) socket.send(JSON.stringify(message));
    });
    try {
      await over.promise;
    } finally {
      clearTimeout(timer);
      const closed = once(socket, 'close').catch(() => {});
      socket.terminate();
      if (socket.readyState !== WebSocket.CLOSED) await closed;
    }
  }

  sound(audioOf: (message: Message) => string | undefined): Buffer {
    const coded = this.#messages.map((message) => Buffer.from(audioOf(message) ?? '', 'base64'));
    return Buffer.concat([...this.#frames, ...coded]);
  }
}
