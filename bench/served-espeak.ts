// Measures the overhead of servers around eSpeak NG: Sonant, and Flask and FastAPI with the same library
// (bench/espeak/python_peer.py). Each server is one process that synthesizes one text at a time, and receives the same
// texts over HTTP. The baseline is the bare library in a loop. CPU time includes the server and its children. Also
// measures the texts per second for 64 clients on the same machine, without pauses.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRawLibrary } from './espeak/raw-process.ts';
import { startProcess } from './measuring/asked-process.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { freePort } from './measuring/free-port.ts';
import { childrenOf, threadsCpuMs } from './measuring/machine.ts';
import type { OpenCheckout } from './measuring/open-checkout.ts';
import { compareCpu, cpuOf, cpuRatio } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const voiceId = 'espeak-en-us';
const rounds = 5;
const warmUps = 8;
/** Number of texts per measurement, by length of text. */
const countOf = new Map([
  [60, 20],
  [1000, 2],
]);
const outputs = [
  // Sonant offers the library's own rate only in the APIs for live speech, which also compute word times.
  { name: '22 050 Hz', rate: 22_050, format: 'pcm' },
  { name: '24 kHz', rate: 24_000, format: 'pcm' },
  { name: '24 kHz mp3', rate: 24_000, format: 'mp3' },
] as const;
const clients = 64;
const clientSeconds = 8;
const clientWarmUpSeconds = 6;
const perSecondMin = 150;
const peers = ['flask', 'fastapi'] as const;
/** Debian's Python. Another Python may be first in PATH, without the packages. */
const python = '/usr/bin/python3';

type Output = (typeof outputs)[number];

interface Server {
  name: string;
  port: number;
  cpuMs(): Promise<number>;
  /** Returns the path, headers and body of a request for a text. */
  asking(text: string, output: Output): { path: string; headers: Record<string, string>; body: object };
}

export const bench: Bench = {
  about: "eSpeak NG's bare library, Sonant, and Flask and FastAPI around the same library",
  async run() {
    await using opened = new AsyncDisposableStack();
    const raw = await openRawLibrary();
    opened.defer(raw.close);
    const servers = [await openSonant(opened), ...(await openPeers(opened))];
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    for (const [chars, count] of countOf) {
      const costs = await measure(raw.cpuMsOf, servers, chars, count);
      for (const output of outputs) {
        const cost = (server: string) => costs[`${server}, ${output.name}`]!;
        for (const { name } of servers)
          rows.push([`${chars}`, output.name, name, cpuOf(cost(name)) / count, cpuRatio([cost(name)], [costs.raw!])]);
        for (const { name } of output.rate === 22_050 ? [] : servers.slice(1)) {
          const figure = cpuRatio([cost('sonant')], [cost(name)]);
          goals.push({ name: `CPU, sonant / ${name}, ${output.name}, ${chars} characters`, figure, digits: 2, max: 1 });
        }
      }
    }
    const rates = new Map<string, number>();
    for (const server of servers) rates.set(server.name, await perSecondOf(server));
    const [own, ...others] = rates;
    goals.push({
      name: `requests/s, ${clients} clients, 60 characters`,
      figure: own![1],
      digits: 0,
      min: perSecondMin,
    });
    for (const [name, rate] of others)
      goals.push({ name: `requests/s, sonant / ${name}`, figure: own![1] / rate, digits: 2, min: 1 });
    const columns = [
      ...['characters', 'sound', 'server'].map((name) => ({ name })),
      ...['CPU ms', '/ bare library'].map((name) => ({ name, digits: 2 })),
    ];
    const rateColumns = [{ name: 'server' }, { name: 'requests/s', digits: 0 }];
    return {
      tables: [
        { title: 'CPU for a text, and its ratio to the bare library', columns, rows },
        { title: `${clients} clients, 60 characters, PCM at 24 kHz`, columns: rateColumns, rows: [...rates] },
      ],
      goals,
    };
  },
};

type Raw = (texts: readonly string[]) => Promise<number>;

async function measure(raw: Raw, servers: readonly Server[], chars: number, count: number) {
  const texts = Array.from({ length: count }, (_, n) => passage(chars, n));
  const served = servers.flatMap((server) =>
    outputs.map((output) => {
      const cpuMs = async () => {
        const before = await server.cpuMs();
        for (const text of texts)
          if (!(await ask(server, server.asking(text, output)))) throw new Error(`${server.name} has refused a text`);
        return (await server.cpuMs()) - before;
      };
      return [`${server.name}, ${output.name}`, cpuMs] as const;
    }),
  );
  const contenders = { raw: () => raw(texts), ...Object.fromEntries(served) };
  return compareCpu<string>(contenders, { rounds, warmUps });
}

async function perSecondOf(server: Server): Promise<number> {
  const run = async (seconds: number, from: number) => {
    let [count, served] = [0, 0];
    const untilMs = performance.now() + 1000 * seconds;
    const client = async () => {
      while (performance.now() < untilMs) {
        // Each text is different.
        const text = `${from + count++}: ${passage(54, count)}`;
        if (await ask(server, server.asking(text, outputs[1]))) served++;
      }
    };
    const sinceMs = performance.now();
    await Promise.all(Array.from({ length: clients }, client));
    return (1000 * served) / (performance.now() - sinceMs);
  };
  await run(clientWarmUpSeconds, 1e6);
  return run(clientSeconds, 0);
}

const agent = new Agent({ keepAlive: true });

/** Sends a request and reads the response to its end. Returns whether its status is 200. */
function ask({ port }: Server, { path, headers, body }: ReturnType<Server['asking']>): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const bytes = Buffer.from(JSON.stringify(body));
  const sent = { 'content-type': 'application/json', 'content-length': bytes.length, ...headers };
  const call = httpRequest({ agent, port, host: '127.0.0.1', method: 'POST', path, headers: sent });
  call.on('error', reject);
  call.on('response', (answer) => {
    answer.on('error', reject).on('end', () => resolve(answer.statusCode === 200));
    answer.resume();
  });
  call.end(bytes);
  return promise;
}

async function openSonant(opened: AsyncDisposableStack): Promise<Server> {
  const root = join(import.meta.dirname, '..');
  const file = join(import.meta.dirname, 'overload/serve.ts');
  const service = await startProcess<OpenCheckout>(file, [root, 'espeak-ng']);
  opened.defer(service.close);
  const { port, apiKey } = service.told;
  return {
    name: 'sonant',
    port,
    cpuMs: async () => (await service.ask()) + threadsCpuMs(childrenOf(service.pid)),
    asking: (text, { rate, format }) =>
      // Streams are never served from the cache.
      rate === 22_050
        ? {
            path: `/v1/text-to-speech/${voiceId}/stream?output_format=pcm_22050`,
            headers: { 'xi-api-key': apiKey },
            body: { text, language_code: 'en' },
          }
        : {
            path: '/api/audio/speech',
            headers: { 'x-api-key': apiKey },
            body: {
              ...{ voice_id: voiceId, language_code: 'en', method: 'streaming', text_chunks: [text] },
              ...{ output_format: format, sample_rate: rate },
            },
          },
  };
}

/** Starts the peers whose packages are installed. Without Debian's Python, starts no peers. */
async function openPeers(opened: AsyncDisposableStack): Promise<Server[]> {
  const servers: Server[] = [];
  for (const name of peers) {
    const modules = `import av, numpy, ${name === 'fastapi' ? 'fastapi, uvicorn' : 'flask'}`;
    if (spawnSync(python, ['-c', modules]).status === 0) servers.push(await openPeer(opened, name));
    else console.log(`not found: what ${name} needs; it is left out`);
  }
  return servers;
}

async function openPeer(opened: AsyncDisposableStack, name: string): Promise<Server> {
  const port = await freePort();
  const file = join(import.meta.dirname, 'espeak/python_peer.py');
  const child = spawn(python, [file, name, `${port}`], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  opened.defer(async () => {
    child.kill();
    await exited;
  });
  const cpuMs = async () => Number(await (await fetch(`http://127.0.0.1:${port}/cpu`)).text());
  while (!(await cpuMs().catch(() => undefined))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} has ended`);
    await sleep(20);
  }
  const asking: Server['asking'] = (text, { rate, format }) => ({
    path: '/speech',
    headers: {},
    body: { text, rate, format },
  });
  return { name, port, cpuMs, asking };
}
