// Measures the overhead of the service around an engine of fixed cost on loopback. A client calls the engine directly
// and through the service, and measures the time to the first audio. CPU time is that of this process: first with the
// service, then, as the baseline, with a bare fetch of the same audio from the engine.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/app/config.ts';
import { openService } from '../src/app/service.ts';
import { openAiCompatible } from '../src/engines/openai-compatible/openai-compatible.ts';
import { createLog } from '../src/platform/telemetry/log.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { median } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';
import { engineRateHz } from './service-cost/fixed-engine.ts';
import type { Heard, LoadRequest } from './service-cost/listener.ts';

const text = passage(1000);
const rounds = 15;
const warmUps = 5;
const outputs = [
  { format: 'pcm', sampleRateHz: 24_000, cpuMsMax: 1 },
  { format: 'wav', sampleRateHz: 44_100, cpuMsMax: 2 },
  { format: 'mp3', sampleRateHz: 44_100, cpuMsMax: 6 },
] as const;

interface Measured {
  firstMs: number;
  cpuMsPerSecond: number;
}

const start = (file: string): ChildProcess => fork(join(import.meta.dirname, 'service-cost', file), { execArgv: [] });

export const bench: Bench = {
  about: 'the cost that the service adds to an engine of fixed cost: time to first audio, CPU time per second of audio',
  async run() {
    const folder = mkdtempSync(join(tmpdir(), 'sonant-bench-cost-'));
    const engine = start('fixed-engine.ts');
    const listener = start('listener.ts');
    const [{ port }] = await once(engine, 'message');
    const engineUrl = `http://127.0.0.1:${port}/v1`;
    const env = {
      ...{
        SONANT_OPENAI_URL: engineUrl,
        SONANT_OPENAI_SAMPLE_RATE: '24000',
        SONANT_DATA_DIR: folder,
        SONANT_LOG_LEVEL: 'warn',
      },
      ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
    };
    const definitions = [openAiCompatible];
    const config = loadConfig({ env, folder, engines: definitions });
    const service = await openService({ config, definitions, log: createLog('warn'), isSinglePort: false });

    const listen = async (request: LoadRequest): Promise<Heard> => {
      listener.send(request);
      return (await once(listener, 'message'))[0];
    };
    const bare: LoadRequest = {
      url: `${engineUrl}/audio/speech`,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'fixed', voice: 'fixed', input: text, response_format: 'pcm' }),
    };
    const { byteCount } = await listen(bare);
    const soundSeconds = byteCount / 2 / engineRateHz;

    const baseline = await measureBaseline(() => listen(bare), bare, soundSeconds);
    const rows: Cell[][] = [];
    const ratios: number[] = [];
    const goals: Goal[] = [];
    for (const { format, sampleRateHz, cpuMsMax } of outputs) {
      const request: LoadRequest = {
        url: `http://127.0.0.1:${service.httpPort}/api/audio/speech`,
        headers: { 'Content-Type': 'application/json', 'X-API-Key': service.firstKey!.key },
        body: JSON.stringify({
          ...{ voice_id: 'fixed', method: 'streaming', text_chunks: [text], language_code: 'en' },
          ...{ output_format: format, sample_rate: sampleRateHz },
        }),
      };
      const served = await measure(() => listen(request), soundSeconds);
      const first = served.firstMs / baseline.firstMs;
      ratios.push(first);
      const cpu = served.cpuMsPerSecond / baseline.cpuMsPerSecond;
      const name = `${format} ${sampleRateHz}: CPU ms per second of audio`;
      goals.push({ name, figure: served.cpuMsPerSecond, digits: 2, max: cpuMsMax });
      rows.push([`${format} ${sampleRateHz}`, served.firstMs, first, served.cpuMsPerSecond, cpu]);
    }
    await service.drain();
    for (const child of [engine, listener]) child.disconnect();
    rmSync(folder, { recursive: true });
    const columns = [
      { name: 'output' },
      { name: 'first audio ms', digits: 1 },
      { name: '/ engine alone', digits: 2 },
      { name: 'CPU ms/s', digits: 2 },
      { name: '/ bare fetch', digits: 1 },
    ];
    const alone: Cell[] = ['engine alone', baseline.firstMs, 1, baseline.cpuMsPerSecond, 1];
    const title = `${text.length} characters, ${soundSeconds.toFixed(0)} s of audio, streamed over REST`;
    const firstName = 'first audio, service / engine alone';
    goals.push({ name: firstName, figure: Math.max(...ratios), digits: 2, max: 2 });
    return { tables: [{ title, columns, rows: [alone, ...rows] }], goals };
  },
};

async function measure(listen: () => Promise<Heard>, soundSeconds: number): Promise<Measured> {
  for (let n = 0; n < warmUps; n++) await listen();
  const before = process.cpuUsage();
  const firsts: number[] = [];
  for (let n = 0; n < rounds; n++) firsts.push((await listen()).firstMs);
  const { user, system } = process.cpuUsage(before);
  return { firstMs: median(firsts), cpuMsPerSecond: (user + system) / 1000 / rounds / soundSeconds };
}

/** Measures the client's latency without the service, and the CPU cost of a bare fetch of the same audio. */
async function measureBaseline(
  listen: () => Promise<Heard>,
  bare: LoadRequest,
  soundSeconds: number,
): Promise<Measured> {
  const { firstMs } = await measure(listen, soundSeconds);
  const fetchBare = async (): Promise<Heard> => {
    const { url, ...init } = bare;
    const answer = await fetch(url, { method: 'POST', ...init });
    let byteCount = 0;
    for await (const piece of answer.body!) byteCount += piece.length;
    return { firstMs: 0, wholeMs: 0, byteCount };
  };
  const { cpuMsPerSecond } = await measure(fetchBare, soundSeconds);
  return { firstMs, cpuMsPerSecond };
}
