// Opens the running service with engines on servers that misbehave on demand, records the requests to these servers,
// and receives speech in five ways: complete or streamed over REST, as events, and by gRPC. Engine timeouts can be
// shortened, so that a test of silence does not take a minute.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OutputFormat, ReturnFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import type { Engine, EngineCapabilities, EngineDefinition } from '../../src/engines/engine.ts';
import { google } from '../../src/engines/google/google.ts';
import { openAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { warmUpText } from '../../src/engines/openai-compatible/server-group.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createStorage } from '../distributed/storage.ts';
import { type GoogleTrouble, openGoogleServer } from '../engines/google-server.ts';
import { openOpenAiServer, type ServerTrouble } from '../engines/openai-server.ts';
import { readEvents, soundIn } from '../transports/http/event-reader.ts';
import { bytesOf } from '../transports/http/open-gateway.ts';
import { explain, openGrpcClient } from '../transports/rpc/grpc-client.ts';

/** The misbehaviour of each server. */
export interface Trouble {
  openAi?: ServerTrouble;
  google?: GoogleTrouble;
}

export async function openMisbehaving(onClose: (close: () => Promise<void>) => void) {
  const openAi = await openOpenAiServer({}, onClose);
  const cloud = await openGoogleServer({}, onClose);
  const folder = mkdtempSync(join(tmpdir(), 'sonant-misbehaving-'));
  const engines: Engine[] = [];
  const noted = (definition: EngineDefinition): EngineDefinition => ({
    ...definition,
    async open(...given) {
      const engine = await definition.open(...given);
      if (engine) engines.push(engine);
      return engine;
    },
  });
  const definitions = [noted(openAiCompatible), noted(google)];
  const env = {
    ...(await createStorage(folder)).settings,
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
    ...{ SONANT_OPENAI_URL: openAi.url, SONANT_OPENAI_SAMPLE_RATE: '24000', SONANT_GOOGLE_ENDPOINT: cloud.endpoint },
    SONANT_GOOGLE_VOICES: 'en-US,cmn-CN,en-GB-Neural2',
  };
  const config = loadConfig({ env, folder, engines: definitions });
  const logged: string[] = [];
  const log = createLog('info', (line) => logged.push(line));
  const service = await openService({ config, definitions, log, isSinglePort: false });
  const { key } = service.firstKey!;
  const url = `http://127.0.0.1:${service.httpPort}`;
  const transports = openTransports({ url, target: `127.0.0.1:${service.grpcPort}`, key });
  onClose(async () => {
    transports.close();
    await service.drain();
    rmSync(folder, { recursive: true });
  });

  const voices = openAi.state.trouble.voices;
  /** The requested texts, without warm-ups: a server that failed gets one after a second, whatever its callers do. */
  const texts = () => openAi.requests.map(({ body }) => body.input).filter((text) => text !== warmUpText);
  const usual = engines.map(({ capabilities }) => capabilities);
  return {
    ...transports,
    url,
    key,
    engines,
    logged,
    openAi,
    cloud,
    /** Sets the misbehaviour from now on; the default is none. Counts of failing requests are reset. */
    misbehave({ openAi: first = {}, google: second = {} }: Trouble) {
      openAi.state.trouble = { voices, ...fresh(first) };
      cloud.state.trouble = fresh(second);
    },
    /** Sets the timeouts from now on. */
    wait(patience: Pick<EngineCapabilities, 'firstSoundMsMax' | 'stallMsMax'>) {
      for (const [i, engine] of engines.entries()) engine.capabilities = { ...usual[i]!, ...patience };
    },
    texts,
    /** Number of speech requests to all servers. */
    requestCount: () => texts().length + cloud.calls.filter(({ method }) => method !== 'list').length,
    /** Number of running requests at the servers. */
    running: () => openAi.state.running + cloud.state.running.size,
    async readMetric(name: string): Promise<number[]> {
      const text = await (await fetch(`${url}/metrics`)).text();
      return [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))].map(([, value]) => Number(value));
    },
  };
}

const fresh = <T extends { failures?: object }>(trouble: T): T =>
  trouble.failures ? { ...trouble, failures: { ...trouble.failures } } : trouble;

export interface SpeechOutcome {
  /** Raw samples at 24 kHz, possibly incomplete. */
  sound: Buffer;
  /** The failure that was reported instead of audio, or after some audio. A cut transfer reports nothing. */
  failure?: ReportedFailure | 'cut';
  /** All received text, to search for secrets. */
  words: string;
}

export interface ReportedFailure {
  /** The HTTP status, or the name of the gRPC status. */
  status: number | string;
  error: string;
  retryAfter?: number;
}

type Transport = (voiceId: string, text: string) => Promise<SpeechOutcome>;
export const transportNames = ['REST, whole', 'REST, streamed', 'events', 'gRPC, whole', 'gRPC, streamed'] as const;
export type TransportName = (typeof transportNames)[number];

const nothing = Buffer.alloc(0);

interface Address {
  url: string;
  /** The gRPC address. */
  target: string;
  key: string;
}

/** Receives speech in five ways, and reads how each reports an incomplete result. The cache is bypassed. */
function openTransports({ url, target, key }: Address) {
  const grpc = openGrpcClient(SpeechService, target);
  const post = (path: string, body: object) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' };
    return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const restFields = (voice_id: string) => ({
    voice_id,
    language_code: 'en',
    sample_rate: 24_000,
    output_format: 'pcm',
  });
  const call = { metadata: { 'x-api-key': key, 'cache-control': 'no-cache' } };
  const grpcFields = (voiceId: string) => ({
    ...{ voiceId, languageCode: 'en', sampleRate: 24_000, outputFormat: OutputFormat.PCM },
  });

  const transports: Record<TransportName, Transport> = {
    async 'REST, whole'(voiceId, text) {
      const answer = await post('/api/audio/speech', { ...restFields(voiceId), text, return_format: 'buffer' });
      return answer.ok ? { sound: await bytesOf(answer), words: '' } : refused(answer);
    },
    async 'REST, streamed'(voiceId, text) {
      const body = { ...restFields(voiceId), method: 'streaming', text_chunks: [text] };
      const answer = await post('/api/audio/speech', body);
      if (!answer.ok) return refused(answer);
      const pieces: Uint8Array[] = [];
      try {
        for await (const piece of answer.body!) pieces.push(piece);
        return { sound: Buffer.concat(pieces), words: '' };
      } catch {
        return { sound: Buffer.concat(pieces), failure: 'cut', words: '' };
      }
    },
    async events(voiceId, text) {
      const answer = await post('/api/audio/speech/sse', { ...restFields(voiceId), text_chunks: [text] });
      if (!answer.ok) return refused(answer);
      const events = await readEvents(answer);
      const { event, data } = events.at(-1)!;
      const sound = soundIn(events);
      if (event === 'speech.audio.done') return { sound, words: '' };
      if (event !== 'error') return { sound, failure: 'cut', words: '' };
      return {
        sound,
        failure: { status: data.status as number, error: String(data.error) },
        words: JSON.stringify(data),
      };
    },
    async 'gRPC, whole'(voiceId, text) {
      try {
        const request = { ...grpcFields(voiceId), text, returnFormat: ReturnFormat.BUFFER };
        const { audio } = await grpc.unary('synthesizeSpeech', request, call);
        return { sound: Buffer.from(audio.value as Uint8Array), words: '' };
      } catch (error) {
        return { sound: nothing, ...failureFrom(error) };
      }
    },
    async 'gRPC, streamed'(voiceId, text) {
      const pieces: Uint8Array[] = [];
      let isDone = false;
      try {
        for await (const { event } of grpc.stream(
          'streamSpeech',
          { ...grpcFields(voiceId), textChunks: [text] },
          call,
        )) {
          if (event.case === 'audio') pieces.push(event.value.audio);
          isDone ||= event.case === 'done';
        }
        return { sound: Buffer.concat(pieces), ...(!isDone && { failure: 'cut' }), words: '' };
      } catch (error) {
        return { sound: Buffer.concat(pieces), ...failureFrom(error) };
      }
    },
  };
  return { transports, post, close: () => grpc.close() };
}

async function refused(answer: Response): Promise<SpeechOutcome> {
  const words = await answer.text();
  const { error } = JSON.parse(words) as { error: string };
  const after = answer.headers.get('retry-after');
  const failure = { status: answer.status, error, ...(after !== null && { retryAfter: Number(after) }) };
  return { sound: nothing, failure, words };
}

function failureFrom(error: unknown): Pick<SpeechOutcome, 'failure' | 'words'> {
  const { code, info, metadata, message } = explain(error);
  const after = metadata['retry-after'];
  const failure = {
    status: code!,
    error: info?.reason.toLowerCase() ?? message,
    ...(after !== undefined && { retryAfter: Number(after) }),
  };
  return { failure, words: message };
}
