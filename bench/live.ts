// Measures the time from the end of the first sentence to the first audio byte, on an idle service and with 20 other
// live streams. The baseline is the bare engine's time for that sentence. Also measures the service's CPU time, without
// the engine's, for LiveSpeech and StreamSpeech with the same text. The service runs in its own process, the bare
// engine in the bench process.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { WebSocket } from 'ws';
import { type LiveSpeechRequestSchema, SpeechService } from '../gen/sonant/v1/speech_pb.ts';
import type { Engine } from '../src/engines/engine.ts';
import { openFlite } from '../src/engines/flite/flite.ts';
import { toPieces } from '../test/model-texts.ts';
import { cpuMsOf, engineMsOf, openService, type Service } from '../test/soak/open-service.ts';
import { createRandom } from '../test/text/random-text.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { type Cost, compare, cpuOf, cpuRatio, median } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const { COUNT = '150' } = process.env;
const count = Number(COUNT);
const others = 20;
/** Number of characters spoken per second. Live streams send their text at this pace. */
const charsPerSecond = 15;
const sampleRateHz = 24_000;
const voiceId = 'clara';
const text = passage(1000);
/** Several calls per measurement, because the CPU clock ticks every 10 ms. */
const callsAtATime = 4;
const goals = { ratio: 1.1, moreMs: 5, cpu: 1.1 };

export const bench: Bench = {
  about:
    'live speech: time from the end of the first sentence to first audio, compared with the engine alone; CPU time above the engine, compared with server streaming',
  async run() {
    await using opened = new AsyncDisposableStack();
    const service = await openService();
    opened.defer(() => service.close());
    const engine = await openFlite({ threads: 2 });
    opened.defer(() => engine.close());
    await measureFirst(service, engine, 20);
    const alone = await measureFirst(service, engine, count);
    const crowd = startOthers(service);
    await sleep(3000);
    const beside = await measureFirst(service, engine, count);
    await crowd.stop();
    const costs = await measureCpu(service);
    const rows = [rowOf('alone', alone), rowOf(`beside ${others} live streams`, beside)];
    const cpuRatios = (['LiveSpeech', 'LiveSpeech, in pieces'] as const).map((name) =>
      cpuRatio([costs[name]], [costs.StreamSpeech]),
    );
    return {
      tables: [
        {
          title: `From the end of the first sentence to the first byte, ${count} times, in ms (WebSocket)`,
          columns: [
            { name: '' },
            ...['engine: median', 'p99', 'live: median', 'p99', 'median : engine', 'more', 'p99 more'].map((name) => ({
              name,
              digits: 2,
            })),
          ],
          rows,
        },
        {
          title: `CPU of the service above its engine, ${text.length} characters over gRPC, in ms`,
          columns: [{ name: 'call' }, { name: 'CPU ms', digits: 1 }, { name: ': StreamSpeech', digits: 2 }],
          rows: [
            ['StreamSpeech', cpuOf(costs.StreamSpeech), 1],
            ['LiveSpeech, text at once', cpuOf(costs.LiveSpeech), cpuRatios[0]!],
            ['LiveSpeech, in pieces of 1 to 40', cpuOf(costs['LiveSpeech, in pieces']), cpuRatios[1]!],
          ],
        },
      ],
      goals: [
        { name: 'live : engine, median, alone', figure: ratioOf(alone), digits: 2, max: goals.ratio },
        { name: 'live - engine, ms, median, alone', figure: moreOf(alone), digits: 2, max: goals.moreMs },
        { name: `live : engine, median, beside ${others}`, figure: ratioOf(beside), digits: 2, max: goals.ratio },
        { name: `live - engine, ms, median, beside ${others}`, figure: moreOf(beside), digits: 2, max: goals.moreMs },
        { name: 'CPU above the engine, live : streaming', figure: cpuRatios[0]!, digits: 2, max: goals.cpu },
      ],
    };
  },
};

interface Firsts {
  engineMs: number[];
  liveMs: number[];
}

const percentile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!;
const ratioOf = ({ engineMs, liveMs }: Firsts) => median(liveMs.map((ms, i) => ms / engineMs[i]!));
const moreOf = ({ engineMs, liveMs }: Firsts) => median(liveMs.map((ms, i) => ms - engineMs[i]!));

function rowOf(name: string, firsts: Firsts): Cell[] {
  const { engineMs, liveMs } = firsts;
  const p99 = [percentile(engineMs, 0.99), percentile(liveMs, 0.99)] as const;
  return [name, median(engineMs), p99[0], median(liveMs), p99[1], ratioOf(firsts), moreOf(firsts), p99[1] - p99[0]];
}

/** Alternates between the bare engine and a live stream with the same first sentence. */
async function measureFirst(service: Service, engine: Engine, times: number): Promise<Firsts> {
  const live = await openSocket(service);
  const firsts: Firsts = { engineMs: [], liveMs: [] };
  for (let n = 0; n < times; n++) {
    const sentence = firstSentence(n);
    firsts.engineMs.push(await engineFirstMs(engine, sentence));
    firsts.liveMs.push(await live.firstMs(sentence));
  }
  live.close();
  return firsts;
}

/** Returns a sentence short enough for one segment. */
function firstSentence(n: number): string {
  const sentence = /^[^.?!]*[.?!]/.exec(passage(200, n))![0];
  return sentence.length <= 60 ? sentence : firstSentence(n + 1);
}

async function engineFirstMs(engine: Engine, spoken: string): Promise<number> {
  const voice = engine.voices.find((each) => each.voiceId === voiceId)!;
  const segment = { voice, text: spoken, languageCode: 'en-US', speakingRate: 1, timings: true, urgent: true };
  const begunMs = performance.now();
  let firstMs: number | undefined;
  for await (const _ of engine.speak(segment, new AbortController().signal)) firstMs ??= performance.now() - begunMs;
  return firstMs!;
}

async function openSocket({ url, key }: Service) {
  const address = `${url.replace('http', 'ws')}/api/audio/speech/live`;
  const socket = new WebSocket(address, { headers: { 'X-API-Key': key } });
  await once(socket, 'open');
  const send = (message: object) => socket.send(JSON.stringify(message));
  send({ type: 'start', voice_id: voiceId, sample_rate: sampleRateHz, buffer_ms: 10_000 });
  let onFirst = () => {};
  let onFlushed = () => {};
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) onFirst();
    else if (JSON.parse(data.toString()).type === 'flushed') onFlushed();
  });
  return {
    send,
    /**
     * Time from the first letter of the next sentence, which shows that this sentence has ended, to the first byte of
     * audio.
     */
    async firstMs(sentence: string): Promise<number> {
      const flushed = new Promise<void>((resolve) => (onFlushed = resolve));
      const first = new Promise<number>((resolve) => (onFirst = () => resolve(performance.now())));
      send({ type: 'text', text: `${sentence} ` });
      await sleep(5);
      const sentMs = performance.now();
      send({ type: 'text', text: 'A' });
      const ms = (await first) - sentMs;
      send({ type: 'flush' });
      await flushed;
      return ms;
    },
    close: () => socket.terminate(),
  };
}

/** Starts streams that write at the pace of speech until they are stopped. */
function startOthers(service: Service) {
  let isOver = false;
  const talk = async (n: number) => {
    const { send, close } = await openSocket(service);
    const random = createRandom(n + 1);
    const all = passage(5000, n);
    for (const piece of toPieces(all, random)) {
      if (isOver) break;
      send({ type: 'text', text: piece });
      await sleep((1000 * piece.length) / charsPerSecond);
    }
    close();
  };
  const talking = Promise.all(Array.from({ length: others }, (_, n) => talk(n)));
  return {
    async stop() {
      isOver = true;
      await talking;
    },
  };
}

type LiveRequest = MessageInitShape<typeof LiveSpeechRequestSchema>;

async function measureCpu(service: Service) {
  const speech = createClient(SpeechService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${service.grpcPort}` }));
  const options = { headers: { 'x-api-key': service.key } };
  const random = createRandom(5);
  const read = async (events: AsyncIterable<unknown>) => {
    for await (const _ of events);
  };
  async function* write(pieces: readonly string[]): AsyncGenerator<LiveRequest> {
    yield { request: { case: 'start', value: { voiceId, sampleRate: sampleRateHz } } };
    for (const piece of pieces) yield { request: { case: 'text', value: { text: piece } } };
  }
  const contenders = {
    StreamSpeech: () => read(speech.streamSpeech({ voiceId, sampleRate: sampleRateHz, textChunks: [text] }, options)),
    LiveSpeech: () => read(speech.liveSpeech(write([text]), options)),
    'LiveSpeech, in pieces': () => read(speech.liveSpeech(write(toPieces(text, random)), options)),
  };
  const aboveEngine = () => cpuMsOf(service) - engineMsOf(service);
  const measure = async (work: () => Promise<void>): Promise<Cost> => {
    const [cpuMs, wallMs] = [aboveEngine(), performance.now()];
    for (let n = 0; n < callsAtATime; n++) await work();
    const each = (ms: number) => ms / callsAtATime;
    return { cpuMs: each(aboveEngine() - cpuMs), wallMs: each(performance.now() - wallMs) };
  };
  return compare<keyof typeof contenders, () => Promise<void>>(contenders, { rounds: 4, warmUps: 1, measure });
}
