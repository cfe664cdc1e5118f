// The clients of `sonant bench`, one for each transport. All request raw samples at 24 kHz, so that seconds can be computed
// from bytes, and bypass the cache, so that everything is synthesized.
import { durationMs } from '@bufbuild/protobuf/wkt';
import { ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { OutputFormat, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { audioFormats } from '../../audio/formats.ts';

export interface ServiceCaller {
  /** The first voice that the key may use. */
  firstVoice(): Promise<string | undefined>;
  /** Resolves when the audio is complete; throws a Refusal for an error reply. */
  speak(voiceId: string, text: string, onSound: (byteCount: number) => void, signal: AbortSignal): Promise<void>;
}

export interface CallerOptions {
  /** Without a trailing slash. */
  url: string;
  apiKey: string;
}

/** An error reply of the service. */
export class Refusal extends Error {
  readonly retryMs: number | undefined;

  constructor(message: string, retryMs?: number) {
    super(message);
    this.retryMs = retryMs;
  }
}

const sampleRateHz = 24_000;
export const soundBytesPerSecond = audioFormats.pcm.bytesPerSecond(sampleRateHz);

const openings: Readonly<Record<string, (options: CallerOptions) => ServiceCaller>> = {
  stream: (options) => createHttpCaller(options, streamBody, '/api/audio/speech'),
  buffer: (options) => createHttpCaller(options, bufferBody, '/api/audio/speech'),
  sse: (options) => createHttpCaller(options, streamBody, '/api/audio/speech/sse'),
  grpc: createGrpcCaller,
};
export const ways: readonly string[] = Object.keys(openings);
export const openCaller = (way: string, options: CallerOptions): ServiceCaller => openings[way]!(options);

type Body = (text: string) => Record<string, unknown>;
const streamBody: Body = (text) => ({ method: 'streaming', text_chunks: [text] });
const bufferBody: Body = (text) => ({ return_format: 'buffer', text });

function createHttpCaller({ url, apiKey }: CallerOptions, toBody: Body, path: string): ServiceCaller {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json', 'cache-control': 'no-cache' };
  return {
    async firstVoice() {
      const response = await checked(await fetch(`${url}/api/voices?limit=1`, { headers: { 'x-api-key': apiKey } }));
      const { voices } = (await response.json()) as { voices: { voice_id: string }[] };
      return voices[0]?.voice_id;
    },
    async speak(voiceId, text, onSound, signal) {
      const sound = { voice_id: voiceId, output_format: 'pcm', sample_rate: sampleRateHz };
      const body = JSON.stringify({ ...sound, ...toBody(text) });
      const { body: response } = await checked(await fetch(`${url}${path}`, { method: 'POST', headers, body, signal }));
      if (path.endsWith('/sse')) return readEvents(response!, onSound);
      for await (const { length } of response!) onSound(length);
    },
  };
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: string };
  const retryMs = response.headers.get('retry-after-ms');
  throw new Refusal(`${response.status} ${error ?? 'not a reply of Sonant'}`, retryMs ? Number(retryMs) : undefined);
}

/** Fails if the stream ends without the event `speech.audio.done`. */
async function readEvents(body: ReadableStream<Uint8Array>, onSound: (byteCount: number) => void): Promise<void> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines.filter((line) => line.startsWith('data:'))) {
      const event = JSON.parse(line.slice('data:'.length)) as { type: string; audio?: string; error?: string };
      if (event.audio) onSound(Buffer.byteLength(event.audio, 'base64'));
      if (event.type === 'speech.audio.done') return;
      if (event.error) throw new Refusal(`event ${event.error}`);
    }
  }
  throw new Refusal('cut off');
}

function createGrpcCaller({ url, apiKey }: CallerOptions): ServiceCaller {
  const transport = createGrpcTransport({ baseUrl: url });
  const headers = { 'x-api-key': apiKey };
  const toRefusal = (error: unknown): never => {
    if (!(error instanceof ConnectError)) throw error;
    const [info] = error.findDetails(ErrorInfoSchema);
    if (!info) throw new Refusal(error.rawMessage);
    const [retry] = error.findDetails(RetryInfoSchema);
    throw new Refusal(info.reason.toLowerCase(), retry?.retryDelay && durationMs(retry.retryDelay));
  };
  return {
    async firstVoice() {
      const { voices } = await createClient(VoiceService, transport)
        .listVoices({ limit: 1 }, { headers })
        .catch(toRefusal);
      return voices[0]?.voiceId;
    },
    async speak(voiceId, text, onSound, signal) {
      const request = { voiceId, textChunks: [text], outputFormat: OutputFormat.PCM, sampleRate: sampleRateHz };
      try {
        for await (const { event } of createClient(SpeechService, transport).streamSpeech(request, { headers, signal }))
          if (event.case === 'audio') onSound(event.value.audio.length);
      } catch (error) {
        toRefusal(error);
      }
    },
  };
}
