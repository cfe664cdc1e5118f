// Sends requests as a client that knows the right answers. It requests each thing only once, and reports the result:
// complete and right, refused with a documented failure, or visibly broken. Anything else is WRONG: other bytes,
// incomplete audio that ends cleanly, a dead link, an unknown key that was created, an unreadable answer.
import { SpeechService, type StreamSpeechResponse } from '../../gen/sonant/v1/speech_pb.ts';
import { eventsIn, soundIn } from '../transports/http/event-reader.ts';
import { type GrpcClient, openGrpcClient } from '../transports/rpc/grpc-client.ts';
import { giveUpMs, type Outcome, Pace, RequestClient, readAll, Seen, same, seen, Watch } from './checked-requests.ts';
import { type KnownSounds, type KnownText, longRateHz } from './known-sounds.ts';

export const kinds = ['link', 'buffer', 'stream', 'events', 'grpc', 'grpc stream', 'key'] as const;
export type Kind = (typeof kinds)[number];

export interface Call extends Outcome {
  kind: Kind;
}

/** Everything that the service has acknowledged. */
export interface Acknowledged {
  links: { path: string; sounds: readonly Buffer[] }[];
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
  /** The stubs of another version. */
  service?: typeof SpeechService;
  /** How fast long streams are read. */
  bytesPerSecond?: number;
}

const formatOfProto = { wav: 1, pcm: 2, mp3: 3 } as const;

export function openCheckingClient(options: CheckingClientOptions): CheckingClient {
  const { url, target, key, sounds, service = SpeechService, bytesPerSecond = 300_000 } = options;
  const speech = openGrpcClient(service, target, { 'grpc.enable_retries': 0 });
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
      acknowledged.links.push({ path, sounds: text.file! });
      charge(text);
      const fetched = await client.get(path, watch);
      same(await readAll(fetched, watch), text.file!, watch);
    },
    async buffer(watch) {
      const text = next(sounds.short);
      same(
        await readAll(
          await client.post('/api/audio/speech', { ...restBody(text), return_format: 'buffer' }, watch),
          watch,
        ),
        text.file!,
        watch,
      );
      charge(text);
    },
    async stream(watch) {
      const text = next(sounds.long);
      const answer = await client.post('/api/audio/speech', { ...streamBody(text), method: 'streaming' }, watch);
      same(await readAll(answer, watch, bytesPerSecond), text.streamed, watch);
      charge(text);
    },
    async events(watch) {
      const text = next(sounds.long);
      const answer = await client.post('/api/audio/speech/sse', streamBody(text), watch);
      const events = eventsIn((await readAll(answer, watch, (bytesPerSecond * 4) / 3)).toString());
      const last = events.at(-1);
      if (last?.event === 'error') throw new Seen(`event ${last.data.error}`);
      if (last?.event !== 'speech.audio.done') throw new Seen('broken');
      same(soundIn(events), text.streamed, watch);
      charge(text);
    },
    async grpc(watch) {
      const text = next(sounds.short);
      const request = { voiceId: 'arthur', text: text.chunks[0]!, outputFormat: formatOfProto[text.format] };
      const metadata = { 'x-api-key': key, 'cache-control': 'no-cache' };
      const call = { metadata, timeoutMs: giveUpMs };
      const reply = await seen(speech.unary('synthesizeSpeech', { ...request, returnFormat: 2 }, call));
      watch.heard();
      same(Buffer.from(reply.audio.value as Uint8Array), text.file!, watch);
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
      return { kind, ...(await watch.outcomeOf(requestsByKind[kind])) };
    },
    close: () => speech.close(),
  };
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
    ...{ outputFormat: formatOfProto[text.format], sampleRate: longRateHz },
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
      pieces.push(event.value.audio);
      await pace.keep(event.value.audio.length);
    }
  };
  await seen(read());
  if (!isDone) throw new Error('a status of OK, and not done');
  same(Buffer.concat(pieces), text.streamed, watch);
}
