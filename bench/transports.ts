// Compares the gateway and the core with servers that only send the same bytes (node:http, node:http2, grpc-js), gRPC
// with grpc-js in front of the same handlers, and stored audio with nginx. The audio is ready, so only the APIs are
// measured. Each contender has its own process. The load comes from this process; CPU time is the server's alone.
import {
  create,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { ReturnFormat, SpeechService } from '../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../gen/sonant/v1/voice_pb.ts';
import { parseSpeechRequest } from '../test/speech/parse-request.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { type Cost, type Costs, compare, cpuOf, cpuRatio, median, wallOf } from './measuring/rounds.ts';
import { loadGrpc } from './transports/grpc-load.ts';
import { firstByteMs, type HttpRequest, loadHttp } from './transports/http-load.ts';
import { toFrame } from './transports/raw-servers.ts';
import { readyPlan, readySpeak } from './transports/ready-speech.ts';
import type { ContenderName } from './transports/serve.ts';
import { type ServerProcess, startNginx, startServer } from './transports/server-process.ts';

const rounds = 5;
/** V8 compiles during the first twenty thousand requests, and longer for a service than for a bare server. */
const warmUps = 40;
const atOnce = 8;
/** Number of requests per measurement. */
const counts = { voice: 1000, sound: 500, stream: 250, events: 200, file: 500 };
/** Connect has more layers around each message than grpc-js, so a small call costs three times as much. */
const grpcGoals = { voice: 0.3, unary: 0.9, stream: 1 };
const goals = { buffer: 0.75, grpc: grpcGoals, events: 0.6, firstSoundMs: 2 };
const firstSounds = 300;

type Run = () => Promise<Cost>;

/** The ratio compares the first contender, which is Sonant, with the second. */
interface Load {
  title: string;
  count: number;
  min?: number;
  contenders: Record<string, Run>;
}

export const bench: Bench = {
  about: 'Sonant, compared with servers that only send the same bytes (requests per second; CPU time of the server)',
  async run() {
    await using servers = new AsyncDisposableStack();
    const start = async (name: ContenderName) => {
      const server = await startServer(name);
      servers.defer(server.close);
      return server;
    };
    const sonant = await start('sonant');
    const http = await start('node:http');
    const http2 = await start('node:http2');
    const grpcJs = await start('grpc-js');
    const sameHandler = await start('grpc-js, same handler');
    const nginx = await startNginx(sonant.addresses.clip!.file);
    if (nginx) servers.defer(nginx.close);
    else console.log('nginx is not installed: stored audio is measured against nothing');

    const loads = [
      ...httpLoads(sonant, http),
      ...grpcLoads(sonant, { sameHandler, http2, grpcJs }),
      ...fileLoads(sonant, nginx),
    ];
    const rows: Cell[][] = [];
    const met: Goal[] = [];
    for (const load of loads) {
      const costs = await compare<string, Run>(load.contenders, { rounds, warmUps, measure: (run) => run() });
      rows.push(...rowsOf(load, costs));
      const [ours, theirs] = Object.keys(load.contenders) as [string, string];
      if (load.min !== undefined)
        met.push({
          name: `${load.title}: requests/s, sonant / ${theirs}`,
          figure: rateRatio(costs, ours, theirs),
          digits: 2,
          min: load.min,
        });
    }
    const first = await firstSound(sonant, http);
    return {
      tables: [
        {
          title: `${atOnce} requests at once`,
          columns: [
            { name: 'load' },
            { name: 'server' },
            { name: 'requests/s' },
            { name: 'CPU us/request' },
            { name: 'CPUs busy', digits: 2 },
            { name: 'requests/s, sonant / other', digits: 2 },
            { name: 'least', digits: 2 },
            { name: 'most', digits: 2 },
            { name: 'CPU time, other / sonant', digits: 2 },
          ],
          rows,
        },
        {
          title: 'First audio of a stream over REST, one client, in ms (median)',
          columns: [
            { name: 'pipeline in process', digits: 3 },
            { name: 'node:http', digits: 3 },
            { name: 'sonant', digits: 3 },
          ],
          rows: [[first.pipelineMs, first.rawMs, first.sonantMs]],
        },
      ],
      goals: [
        ...met,
        {
          name: 'first audio: ms that the gateway adds',
          figure: first.sonantMs - first.pipelineMs,
          digits: 3,
          max: goals.firstSoundMs,
        },
      ],
    };
  },
};

const said = { voice_id: 'ada', text: 'Hello' };
const streamed = JSON.stringify({ voice_id: 'ada', text_chunks: ['Hello'], method: 'streaming' });
const streamRequest: HttpRequest = { method: 'POST', path: '/api/audio/speech', body: streamed };

function httpLoads(sonant: ServerProcess, raw: ServerProcess): Load[] {
  const load = (title: string, count: number, request: HttpRequest, min?: number): Load => {
    const contenders = { sonant: httpRun(sonant, request, count), 'node:http': httpRun(raw, request, count) };
    return { title, count, contenders, ...(min !== undefined && { min }) };
  };
  const buffer = JSON.stringify({ ...said, return_format: 'buffer' });
  return [
    load('REST voice', counts.voice, { method: 'GET', path: '/api/voices/ada' }),
    load('REST buffer 100 KB', counts.sound, { method: 'POST', path: '/api/audio/speech', body: buffer }, goals.buffer),
    load('REST stream 20 x 8 KiB', counts.stream, streamRequest),
    load('SSE 20 x 8 KiB', counts.events, { ...streamRequest, path: '/api/audio/speech/sse' }, goals.events),
  ];
}

function grpcLoads(
  sonant: ServerProcess,
  { sameHandler, http2, grpcJs }: Record<'sameHandler' | 'http2' | 'grpcJs', ServerProcess>,
): Load[] {
  const load = <M extends DescMethodUnary | DescMethodServerStreaming>(
    title: string,
    count: number,
    call: { method: M; message: MessageInitShape<M['input']>; min: number },
  ): Load => {
    const { method, message, min } = call;
    const path = `/${method.parent.typeName}/${method.name}`;
    const frame = toFrame(toBinary(method.input, create(method.input, message)));
    const run = (server: ServerProcess) =>
      costing(server, ({ grpcPort, apiKey }) =>
        loadGrpc({ port: grpcPort!, request: { path, apiKey, frame }, callsAtOnce: atOnce, count }),
      );
    const contenders = {
      sonant: run(sonant),
      'grpc-js, same handler': run(sameHandler),
      'grpc-js': run(grpcJs),
      'node:http2': run(http2),
    };
    return { title, count, contenders, min };
  };
  const { synthesizeSpeech, streamSpeech } = SpeechService.method;
  const { getVoice } = VoiceService.method;
  const inline = { voiceId: 'ada', text: 'Hello', returnFormat: ReturnFormat.BUFFER };
  const chunks = { voiceId: 'ada', textChunks: ['Hello'] };
  return [
    load('gRPC voice', counts.voice, { method: getVoice, message: { voiceId: 'ada' }, min: goals.grpc.voice }),
    load('gRPC unary 100 KB', counts.sound, { method: synthesizeSpeech, message: inline, min: goals.grpc.unary }),
    load('gRPC stream 20 x 8 KiB', counts.stream, { method: streamSpeech, message: chunks, min: goals.grpc.stream }),
  ];
}

function fileLoads(sonant: ServerProcess, nginx: ServerProcess | undefined): Load[] {
  const run = (server: ServerProcess) =>
    httpRun(server, { method: 'GET', path: server.addresses.clip!.path }, counts.file);
  const contenders = { sonant: run(sonant), ...(nginx && { nginx: run(nginx) }) };
  return [{ title: 'Stored audio 100 KB', count: counts.file, contenders }];
}

function httpRun(server: ServerProcess, request: HttpRequest, count: number): Run {
  return costing(server, ({ httpPort, apiKey }) =>
    loadHttp({ port: httpPort!, request: { ...request, apiKey }, connections: atOnce, count }),
  );
}

function costing(server: ServerProcess, work: (addresses: ServerProcess['addresses']) => Promise<void>): Run {
  return async () => {
    const cpuMs = await server.cpuMs();
    const start = performance.now();
    await work(server.addresses);
    const wallMs = performance.now() - start;
    return { wallMs, cpuMs: (await server.cpuMs()) - cpuMs };
  };
}

function rowsOf({ title, count, contenders }: Load, costs: Costs<string>): Cell[][] {
  const names = Object.keys(contenders);
  const ours = names[0]!;
  return names.map((name, n) => {
    const [cpuMs, wallMs] = [cpuOf(costs[name]!), wallOf(costs[name]!)];
    const figures = [(1000 * count) / wallMs, (1000 * cpuMs) / count, cpuMs / wallMs];
    const ratios = n === 0 ? [] : [...rateSpread(costs, ours, name), cpuRatio([costs[name]!], [costs[ours]!])];
    return [n === 0 ? title : '', name, ...figures, ...ratios];
  });
}

const rateRatios = (costs: Costs<string>, ours: string, theirs: string): number[] =>
  costs[theirs]!.map(({ wallMs }, round) => wallMs / costs[ours]![round]!.wallMs);

const rateRatio = (costs: Costs<string>, ours: string, theirs: string): number =>
  median(rateRatios(costs, ours, theirs));

function rateSpread(costs: Costs<string>, ours: string, theirs: string): number[] {
  const ratios = rateRatios(costs, ours, theirs);
  return [median(ratios), Math.min(...ratios), Math.max(...ratios)];
}

async function firstSound(sonant: ServerProcess, raw: ServerProcess) {
  const requestSonant = { ...streamRequest, apiKey: sonant.addresses.apiKey };
  const pipeline: number[] = [];
  for (let n = 0; n < firstSounds; n++) pipeline.push(await pipelineFirstMs());
  const rawMs = median(await firstByteMs(raw.addresses.httpPort!, streamRequest, firstSounds));
  const sonantMs = median(await firstByteMs(sonant.addresses.httpPort!, requestSonant, firstSounds));
  return { pipelineMs: median(pipeline), rawMs, sonantMs };
}

async function pipelineFirstMs(): Promise<number> {
  const start = performance.now();
  const request = parseSpeechRequest({ ...said, output_format: 'wav' });
  const never = new AbortController().signal;
  const caller = { callerId: 'bench', accountId: 'bench' };
  for await (const event of readySpeak(await readyPlan(request, caller), caller, never))
    if (event.type === 'audio') break;
  return performance.now() - start;
}
