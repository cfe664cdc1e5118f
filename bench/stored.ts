// Compares stored audio through the complete service (a fetch of a link, and a cache hit) with nginx and the same file,
// and with a bare Fastify and the same bytes and headers. Each contender has its own process. The load comes from this
// process; CPU time is the server's alone. SONANT_BENCH_BEFORE names another checkout to measure too.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from './measuring/asked-process.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import type { OpenCheckout } from './measuring/open-checkout.ts';
import { type Cost, compare, cpuOf, median, wallOf } from './measuring/rounds.ts';
import { answerOf, steadyLoad } from './stored/steady-load.ts';
import { startNginx } from './transports/server-process.ts';

const rounds = 3;
/** V8 compiles during the first ten thousand requests, and longer for a service than for a bare server. */
const warmUps = 6;
const connections = 64;
const root = join(import.meta.dirname, '..');
const sizes = [
  { title: '150 KB', chars: 48, count: 800, fileMin: 0.4, hitMin: 0.3 },
  { title: '2.5 MB', chars: 800, count: 80, fileMin: 0.9, hitMin: 0.9 },
];

interface Contender {
  port: number;
  request: Uint8Array;
  cpuMs(): Promise<number>;
}

interface Server {
  addresses: OpenCheckout;
  cpuMs(): Promise<number>;
}

export const bench: Bench = {
  about: `stored audio and cache hits, compared with nginx and Fastify, ${connections} connections`,
  async run() {
    await using opened = new AsyncDisposableStack();
    const sonant = await start(opened, 'sonant', root);
    const fastify = await start(opened, 'fastify', '');
    const { SONANT_BENCH_BEFORE: beforeRoot } = process.env;
    const before = beforeRoot === undefined ? undefined : await start(opened, 'sonant', beforeRoot);
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    let base = 'Fastify';
    for (const { title, chars, count, fileMin, hitMin } of sizes) {
      const bytes = (await makeClip(sonant, chars)).length;
      const nginx = await openNginx(opened, bytes);
      const contenders: Record<string, Contender> = {
        ...(nginx && { nginx }),
        Fastify: { port: fastify.addresses.port, request: get(`/${bytes}`), cpuMs: fastify.cpuMs },
        'sonant link': await linkOf(sonant, chars),
        'sonant hit': hitOf(sonant, chars),
        ...(before && { 'before link': await linkOf(before, chars), 'before hit': hitOf(before, chars) }),
      };
      const costs = await compare<string, Contender>(contenders, {
        ...{ rounds, warmUps },
        measure: (contender) => costOfLoad(contender, count),
      });
      if (nginx) base = 'nginx';
      const shareOf = (name: string) => costs[base]!.map(({ wallMs }, n) => wallMs / costs[name]![n]!.wallMs);
      for (const [n, name] of Object.keys(contenders).entries()) {
        const shares = shareOf(name);
        const cost = costs[name]!;
        const figures = [(1000 * count) / wallOf(cost), (1000 * cpuOf(cost)) / count];
        rows.push([n === 0 ? title : '', name, ...figures, median(shares), Math.min(...shares), Math.max(...shares)]);
      }
      if (!nginx) continue;
      const goal = (name: string, min: number): Goal => ({
        ...{ name: `${title}: requests/s, ${name} / nginx`, figure: median(shareOf(name)), digits: 2, min },
      });
      goals.push(goal('sonant link', fileMin), goal('sonant hit', hitMin));
    }
    const columns = [
      ...[{ name: 'sound' }, { name: 'server' }, { name: 'requests/s' }, { name: 'CPU us/request' }],
      ...[`share of ${base}`, 'least', 'most'].map((name) => ({ name, digits: 3 })),
    ];
    return { tables: [{ title: `${connections} connections`, columns, rows }], goals };
  },
};

async function start(opened: AsyncDisposableStack, kind: 'sonant' | 'fastify', of: string): Promise<Server> {
  const server = await startProcess<OpenCheckout>(join(import.meta.dirname, 'stored/serve.ts'), [kind, of]);
  opened.defer(server.close);
  return { addresses: server.told, cpuMs: server.ask };
}

const get = (path: string) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);

const textOf = (chars: number) => 'The train leaves at half past nine, they said. '.repeat(20).slice(0, chars);

function speechRequest({ addresses }: Server, chars: number, returnFormat: 'url' | 'buffer'): Buffer {
  const spoken = { voice_id: 'ready', text: textOf(chars), sample_rate: 24_000, return_format: returnFormat };
  const body = JSON.stringify(spoken);
  const head = ['POST /api/audio/speech HTTP/1.1', 'Host: localhost', `X-API-Key: ${addresses.apiKey}`];
  head.push('Content-Type: application/json', `Content-Length: ${body.length}`);
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const bodyOf = (answer: Buffer) => answer.subarray(answer.indexOf('\r\n\r\n') + 4);

const makeClip = async (server: Server, chars: number) =>
  bodyOf(await answerOf(server.addresses.port, speechRequest(server, chars, 'buffer')));

async function linkOf(server: Server, chars: number): Promise<Contender> {
  const { port } = server.addresses;
  const answer = bodyOf(await answerOf(port, speechRequest(server, chars, 'url')));
  const { pathname } = new URL(JSON.parse(answer.toString()).audio_url);
  return { port, request: get(pathname), cpuMs: server.cpuMs };
}

const hitOf = (server: Server, chars: number): Contender => ({
  port: server.addresses.port,
  request: speechRequest(server, chars, 'buffer'),
  cpuMs: server.cpuMs,
});

async function openNginx(opened: AsyncDisposableStack, bytes: number): Promise<Contender | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'sonant-bench-file-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'clip.wav');
  await writeFile(file, Buffer.alloc(bytes, 1));
  const nginx = await startNginx(file);
  if (!nginx) return undefined;
  opened.defer(nginx.close);
  return { port: nginx.addresses.httpPort!, request: get('/audio/clip.wav'), cpuMs: nginx.cpuMs };
}

async function costOfLoad({ port, request, cpuMs }: Contender, count: number): Promise<Cost> {
  const before = await cpuMs();
  const begunMs = performance.now();
  await steadyLoad({ port, request, connections, count });
  const wallMs = performance.now() - begunMs;
  return { wallMs, cpuMs: (await cpuMs()) - before };
}
