// Measures neural models in the real library. First, the cost of the service around a model that does almost nothing:
// the CPU time of this process and of the model's process, compared with the cheapest possible engine, which returns
// the same audio in this process. Then, the best distribution of concurrent requests over processes and threads, with a
// model that computes as much as a model of realistic size.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine, SpokenPcm } from '../src/engines/engine.ts';
import { openSherpaEngine } from '../src/engines/sherpa-onnx/sherpa-engine.ts';
import { parseSpeechRequest } from '../src/speech/request.ts';
import { Schedule } from '../src/speech/schedule.ts';
import { createSpeech } from '../src/speech/synthesize.ts';
import { createVoices } from '../src/speech/voice.ts';
import { makeTinyVoice } from '../test/engines/tiny-supertonic.ts';
import type { Bench, Cell, Table } from './measuring/bench.ts';
import { median } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const text = passage(500);
const rounds = 5;
const requestsAtOnce = 4;
/** Multiplications per frame, chosen so that one core takes a few tenths of a second per second of audio. */
const work = 40;
const ticksPerSecond = 100;
const never = new AbortController().signal;

async function openModel(folder: string, options: { threads: number; processes: number; work: number }) {
  const dataDir = await mkdtemp(join(folder, 'data-'));
  await makeTinyVoice(join(dataDir, 'models/tiny'), { work: options.work, sampleRateHz: 24_000 });
  const pids: number[] = [];
  const engine = await openSherpaEngine({
    ...{ dataDir, threads: options.threads, processesMax: 8, modelProcessesMax: options.processes },
    ...{ idleSeconds: 600, steps: 0, hearAfterMs: 3_600_000 },
    onStart: ({ pid }) => pids.push(pid!),
  });
  return { engine, pids };
}

/** The simplest engine: returns the same audio from memory. */
function asFixed(engine: Engine, spoken: ReadonlyMap<string, readonly SpokenPcm[]>): Engine {
  return {
    name: engine.name,
    voices: engine.voices,
    capabilities: { ...engine.capabilities, ...engine.capabilitiesOf!(engine.voices[0]!, 'en') },
    async *speak(segment) {
      yield* spoken.get(segment.text)!;
    },
    close: async () => {},
  };
}

function openPipeline(engine: Engine) {
  const speech = createSpeech({
    voices: createVoices([engine]),
    schedule: new Schedule({ speakingMax: 64, waitingMax: 0 }),
  });
  /** Returns the seconds of audio, and the time to the first byte. */
  return async (format: string, caller = 'bench'): Promise<{ seconds: number; firstMs: number }> => {
    const fields = { voice_id: engine.voices[0]!.voiceId, language_code: 'en', text };
    const request = parseSpeechRequest({ ...fields, output_format: format, sample_rate: 24_000 });
    const startMs = performance.now();
    let firstMs = 0;
    let seconds = 0;
    for await (const event of speech.streamSpeech(request, { callerId: caller }, never)) {
      if (event.type === 'audio' && firstMs === 0) firstMs = performance.now() - startMs;
      if (event.type === 'done') seconds = event.seconds;
    }
    return { seconds, firstMs };
  };
}

/** CPU time of a process, user and system, in steps of 10 ms. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

const megabytesOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) / 1000;

async function measureCost(folder: string): Promise<{ table: Table; ratio: number }> {
  const { engine, pids } = await openModel(folder, { threads: 1, processes: 1, work: 0 });
  const spoken = new Map<string, SpokenPcm[]>();
  const listening: Engine = {
    ...engine,
    voices: engine.voices,
    async *speak(segment, signal) {
      const pieces: SpokenPcm[] = [];
      spoken.set(segment.text, pieces);
      for await (const piece of engine.speak(segment, signal)) {
        pieces.push(piece);
        yield piece;
      }
    },
  };
  await openPipeline(listening)('pcm');
  const say = { fixed: openPipeline(asFixed(engine, spoken)), model: openPipeline(engine) };
  const rows: Cell[][] = [];
  let ratio = 0;
  for (const format of ['pcm', 'mp3']) {
    const costs: Record<'fixed' | 'model' | 'child', number[]> = { fixed: [], model: [], child: [] };
    for (let n = 0; n <= rounds; n++) {
      for (const kind of ['fixed', 'model'] as const) {
        const before = process.cpuUsage();
        const childBefore = cpuMsOf(pids[0]!);
        const { seconds } = await say[kind](format);
        const { user, system } = process.cpuUsage(before);
        if (n === 0) continue;
        costs[kind].push((user + system) / 1000 / seconds);
        if (kind === 'model') costs.child.push((cpuMsOf(pids[0]!) - childBefore) / seconds);
      }
    }
    const [fixed, model, child] = [median(costs.fixed), median(costs.model), median(costs.child)];
    if (format === 'pcm') ratio = model - fixed;
    rows.push([format, fixed, model, model - fixed, child, megabytesOf(process.pid), megabytesOf(pids[0]!)]);
  }
  await engine.close();
  const columns = [
    { name: 'format' },
    { name: 'floor CPU ms/s', digits: 2 },
    { name: 'service CPU ms/s', digits: 2 },
    { name: 'above floor', digits: 2 },
    { name: 'model process CPU ms/s', digits: 2 },
    { name: 'service MB', digits: 0 },
    { name: 'model process MB', digits: 0 },
  ];
  const title = 'Around a model of a few kilobytes: CPU per second of sound, against the same sound from memory';
  return { table: { title, columns, rows }, ratio };
}

async function measureSpread(folder: string): Promise<Table> {
  const rows: Cell[][] = [];
  for (const [processes, threads] of [
    [1, 1],
    [1, 2],
    [2, 1],
    [2, 2],
    [4, 1],
  ] as const) {
    const { engine, pids } = await openModel(folder, { threads, processes, work });
    const say = openPipeline(engine);
    const together = async () => {
      const startMs = performance.now();
      const all = await Promise.all(Array.from({ length: requestsAtOnce }, (_, n) => say('pcm', `caller ${n}`)));
      const seconds = all.reduce((sum, each) => sum + each.seconds, 0);
      return {
        rate: seconds / ((performance.now() - startMs) / 1000),
        lastFirstMs: Math.max(...all.map((e) => e.firstMs)),
      };
    };
    await together();
    const alone: { seconds: number; firstMs: number; wallMs: number }[] = [];
    const crowd: Awaited<ReturnType<typeof together>>[] = [];
    for (let n = 0; n < 3; n++) {
      const startMs = performance.now();
      alone.push({ ...(await say('pcm')), wallMs: performance.now() - startMs });
      crowd.push(await together());
    }
    rows.push([
      `${processes} x ${threads}`,
      median(alone.map(({ seconds, wallMs }) => (1000 * seconds) / wallMs)),
      median(alone.map(({ firstMs }) => firstMs)),
      median(crowd.map(({ rate }) => rate)),
      median(crowd.map(({ lastFirstMs }) => lastFirstMs)),
      pids.reduce((sum, pid) => sum + megabytesOf(pid), 0),
    ]);
    await engine.close();
  }
  const columns = [
    { name: 'processes x threads' },
    { name: 'one: s of sound/s', digits: 1 },
    { name: 'one: first ms', digits: 0 },
    { name: `${requestsAtOnce} at once: s of sound/s`, digits: 1 },
    { name: 'last first ms', digits: 0 },
    { name: 'MB', digits: 0 },
  ];
  return {
    title: 'A model that computes: seconds of sound made in a second, and time to the first sound',
    columns,
    rows,
  };
}

export const bench: Bench = {
  about:
    'neural models: cost of the service around a model that does nothing; processes and threads for one that computes',
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'sonant-bench-models-'));
    const cost = await measureCost(folder);
    const spread = await measureSpread(folder);
    await rm(folder, { recursive: true });
    const name = 'CPU above the floor, ms for each second of sound (pcm)';
    return { tables: [cost.table, spread], goals: [{ name, figure: cost.ratio, digits: 2, max: 5 }] };
  },
};
