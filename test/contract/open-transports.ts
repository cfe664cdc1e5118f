// Receives speech in five ways, complete or streamed over REST, as events, and by gRPC, and reads how each reports an
// incomplete result. The cache is bypassed.
import { OutputFormat, ReturnFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { readEvents, soundIn } from '../transports/http/event-reader.ts';
import { bytesOf } from '../transports/http/open-gateway.ts';
import { explain, openGrpcClient } from '../transports/rpc/grpc-client.ts';

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

export type Transport = (voiceId: string, text: string) => Promise<SpeechOutcome>;
export const transportNames = ['REST, whole', 'REST, streamed', 'events', 'gRPC, whole', 'gRPC, streamed'] as const;
export type TransportName = (typeof transportNames)[number];

const nothing = Buffer.alloc(0);

interface Address {
  url: string;
  /** The gRPC address. */
  target: string;
  key: string;
}

export function openTransports({ url, target, key }: Address) {
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
