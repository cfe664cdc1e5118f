// A client that knows what it must hear. It asks for each thing once, never again, and says what came of it: all of it and
// right, refused in the words of the service, or broken in a way that shows. Anything else is WRONG: other bytes, a clean end
// before the end, a link to nothing, a key that was made and is unknown, an answer that nobody can read.
import { setTimeout as sleep } from 'node:timers/promises';
import grpc from '@grpc/grpc-js';
import { SpeechService, type StreamSpeechResponse } from '../../gen/sonant/v1/speech_pb.ts';
import { eventsIn, soundIn } from '../gateway/event-reader.ts';
import { explain, type GrpcClient, openGrpcClient } from '../rpc/grpc-client.ts';
import { type KnownSounds, type KnownText, longRateHz } from './known-sounds.ts';

export const kinds = ['link', 'buffer', 'stream', 'events', 'grpc', 'grpc stream', 'key'] as const;
export type Kind = (typeof kinds)[number];

export interface Call {
  kind: Kind;
  beganMs: number;
  endedMs: number;
  /** The longest time in which nothing came. */
  silentMs: number;
  /** "ok", or what came of it in place of that. */
  outcome: string;
}

/** What the service has said that it has done. */
export interface Acknowledged {
  links: { path: string; sound: Buffer }[];
  keys: string[];
  requests: number;
  chars: number;
}

export interface CheckingClient {
  readonly acknowledged: Acknowledged;
  call(kind: Kind): Promise<Call>;
  close(): void;
}

export interface CheckingClientOptions {
  url: string;
  target: string;
  key: string;
  sounds: KnownSounds;
  /** How fast long streams are read. */
  bytesPerSecond?: number;
}

/** Longer than anything may take. */
const giveUpMs = 90_000;
const formatOfProto = { wav: 1, pcm: 2, mp3: 3 } as const;

/** What a caller is told, or sees. */
class Seen extends Error {}

export function openCheckingClient(options: CheckingClientOptions): CheckingClient {
  const { url, target, key, sounds, bytesPerSecond = 300_000 } = options;
  const speech = openGrpcClient(SpeechService, target, { 'grpc.enable_retries': 0 });
  const acknowledged: Acknowledged = { links: [], keys: [], requests: 0, chars: 0 };
  const client = new RequestClient(url, key);
  let turn = 0;
  const next = (texts: readonly KnownText[]) => texts[turn++ % texts.length]!;
  const charge = ({ chars }: KnownText) => {
    acknowledged.requests++;
    acknowledged.chars += chars;
  };
  const restBody = ({ chunks, format }: KnownText) => ({ voice_id: 'arthur', text: chunks[0], output_format: format });
  const streamBody = ({ chunks, format }: KnownText) => ({
    ...{ voice_id: 'arthur', text_chunks: chunks, output_format: format, sample_rate: longRateHz },
  });

  const requestsByKind: Record<Kind, (watch: Watch) => Promise<void>> = {
    async link(watch) {
      const text = next(sounds.short);
      const answer = await client.post('/api/audio/speech', restBody(text), watch);
      const fields = JSON.parse((await readAll(answer, watch)).toString()) as { audio_url: string };
      const path = new URL(fields.audio_url).pathname;
      acknowledged.links.push({ path, sound: text.file! });
      charge(text);
      const fetched = await client.get(path, watch);
      same(await readAll(fetched, watch), text.file!);
    },
    async buffer(watch) {
      const text = next(sounds.short);
      same(
        await readAll(
          await client.post('/api/audio/speech', { ...restBody(text), return_format: 'buffer' }, watch),
          watch,
        ),
        text.file!,
      );
      charge(text);
    },
    async stream(watch) {
      const text = next(sounds.long);
      const answer = await client.post('/api/audio/speech', { ...streamBody(text), method: 'streaming' }, watch);
      same(await readAll(answer, watch, bytesPerSecond), text.streamed);
      charge(text);
    },
    async events(watch) {
      const text = next(sounds.long);
      const answer = await client.post('/api/audio/speech/sse', streamBody(text), watch);
      const events = eventsIn((await readAll(answer, watch, (bytesPerSecond * 4) / 3)).toString());
      const last = events.at(-1);
      if (last?.event === 'error') throw new Seen(`event ${last.data.error}`);
      if (last?.event !== 'speech.audio.done') throw new Seen('broken');
      same(soundIn(events), text.streamed);
      charge(text);
    },
    async grpc(watch) {
      const text = next(sounds.short);
      const request = { voiceId: 'arthur', text: text.chunks[0]!, outputFormat: formatOfProto[text.format] };
      const metadata = { 'x-api-key': key, 'cache-control': 'no-cache' };
      const call = { metadata, timeoutMs: giveUpMs };
      const reply = await seen(speech.unary('synthesizeSpeech', { ...request, returnFormat: 2 }, call));
      watch.heard();
      same(Buffer.from(reply.audio.value as Uint8Array), text.file!);
      charge(text);
    },
    async 'grpc stream'(watch) {
      const text = next(sounds.long);
      await readGrpc(speech, { text, key, watch, bytesPerSecond });
      charge(text);
    },
    async key(watch) {
      const made = await client.post('/api/auth/api-keys', { name: 'soak' }, watch);
      const { key: own } = JSON.parse((await readAll(made, watch)).toString()) as { key: string };
      acknowledged.keys.push(own);
      await readAll(await new RequestClient(url, own).get('/api/voices', watch), watch);
    },
  };

  return {
    acknowledged,
    async call(kind) {
      const watch = new Watch();
      const outcome = await requestsByKind[kind](watch).then(
        () => 'ok',
        (error: Error) => (error instanceof Seen ? error.message : `WRONG: ${error.stack ?? error}`),
      );
      watch.heard();
      const endedMs = performance.now();
      return { kind, beganMs: watch.beganMs, endedMs, silentMs: watch.silentMs, outcome };
    },
    close: () => speech.close(),
  };
}

class Watch {
  readonly beganMs = performance.now();
  silentMs = 0;
  #lastMs = this.beganMs;

  heard(): void {
    const now = performance.now();
    this.silentMs = Math.max(this.silentMs, now - this.#lastMs);
    this.#lastMs = now;
  }

  /** What we ourselves waited for. */
  rested(): void {
    this.#lastMs = performance.now();
  }
}

class RequestClient {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  post(path: string, body: object, watch: Watch): Promise<Response> {
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' };
    return this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) }, watch);
  }

  get(path: string, watch: Watch): Promise<Response> {
    return this.#ask(path, {}, watch);
  }

  async #ask(path: string, init: RequestInit, watch: Watch): Promise<Response> {
    const headers = { ...init.headers, 'X-API-Key': this.#key };
    const signal = AbortSignal.timeout(giveUpMs);
    const answer = await fetch(this.#url + path, { ...init, headers, signal }).catch((error) => {
      throw error.name === 'TimeoutError' ? new Error('nothing for ever') : new Seen('no answer');
    });
    watch.heard();
    if (answer.ok) return answer;
    const fields = (await answer.text().catch(() => '')) || '{}';
    const { error, status, message } = toObject(fields);
    if (error === undefined) throw new Error(`${answer.status}, and nobody can read why: ${fields}`);
    if (answer.status < 429) throw new Error(`${path}: ${status} ${error} ${message}`);
    throw new Seen(`${answer.status} ${error}`);
  }
}

function toObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

async function readAll(answer: Response, watch: Watch, bytesPerSecond = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const pace = new Pace(watch, bytesPerSecond);
  try {
    for await (const piece of answer.body!) {
      watch.heard();
      pieces.push(piece);
      await pace.keep(piece.length);
    }
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw new Error('nothing for ever');
    throw new Seen('broken');
  }
  return Buffer.concat(pieces);
}

/** Reads no faster than that. */
class Pace {
  readonly #watch: Watch;
  readonly #bytesPerSecond: number;
  readonly #sinceMs = performance.now();
  #bytes = 0;

  constructor(watch: Watch, bytesPerSecond: number) {
    this.#watch = watch;
    this.#bytesPerSecond = bytesPerSecond;
  }

  async keep(byteCount: number): Promise<void> {
    this.#bytes += byteCount;
    const early = (this.#bytes / this.#bytesPerSecond) * 1000 - (performance.now() - this.#sinceMs);
    if (early < 1) return;
    await sleep(early);
    this.#watch.rested();
  }
}

interface GrpcReading {
  text: KnownText;
  key: string;
  watch: Watch;
  bytesPerSecond: number;
}

async function readGrpc(speech: GrpcClient<typeof SpeechService>, reading: GrpcReading): Promise<void> {
  const { text, key, watch, bytesPerSecond } = reading;
  const request = {
    ...{ voiceId: 'arthur', textChunks: [...text.chunks] },
    ...{ outputFormat: formatOfProto[text.format], sampleRateHz: longRateHz },
  };
  const call = speech.stream('streamSpeech', request, { metadata: { 'x-api-key': key }, timeoutMs: giveUpMs });
  const pieces: Uint8Array[] = [];
  const pace = new Pace(watch, bytesPerSecond);
  let isDone = false;
  const read = async () => {
    for await (const { event } of call as AsyncIterable<StreamSpeechResponse>) {
      watch.heard();
      if (event.case === 'done') isDone = true;
      if (event.case !== 'audio') continue;
      pieces.push(event.value.audioBytes);
      await pace.keep(event.value.audioBytes.length);
    }
  };
  await seen(read());
  if (!isDone) throw new Error('a status of OK, and not done');
  same(Buffer.concat(pieces), text.streamed);
}

/** What a call over gRPC failed with. */
async function seen<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    if (error.metadata === undefined) throw error;
    const { code, info } = explain(error);
    if (error.code === grpc.status.DEADLINE_EXCEEDED && info === undefined) throw new Error('nothing for ever');
    throw new Seen(`${code} ${info?.reason.toLowerCase() ?? '(no answer)'}`);
  });
}

function same(heard: Buffer, right: Buffer): void {
  if (heard.equals(right)) return;
  const at = heard.findIndex((byte, i) => byte !== right[i]);
  throw new Error(`${heard.length} bytes in place of ${right.length}, other from ${at} on`);
}
