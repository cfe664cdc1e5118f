// Compares one process on SQLite with 1, 2 and 4 replicas that share the requests on one PostgreSQL. Shows
// the extra cost of each request, and how replicas scale with the cores of this machine. Replicas, stores and
// client share these cores, but CPU time includes the replicas only.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstKeyScopes, operator } from '../src/accounts/keys/caller.ts';
import { openKeys } from '../src/app/command-line.ts';
import { loadConfig } from '../src/app/config.ts';
import { startPostgres } from '../test/platform/store/postgres-server.ts';
import { cpuMsOf, openService, type Service } from '../test/soak/open-service.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { type Cost, type Costs, compare, cpuOf, cpuRatio, median, wallOf } from './measuring/rounds.ts';
import { firstByteMs, type HttpRequest, loadHttp } from './transports/http-load.ts';

const rounds = 3;
const connections = 8;
const counts = { voice: 400, stream: 32 };
const firstSounds = 20;
const goals = { cpuToAlone: 2 };
const setUps = ['alone', '1 replica', '2 replicas', '4 replicas'] as const;
type SetUp = (typeof setUps)[number];
type Fleets = Readonly<Record<SetUp, readonly Service[]>>;

const body = JSON.stringify({ voice_id: 'arthur', text_chunks: ['Hello.'], method: 'streaming', output_format: 'pcm' });
const voice: HttpRequest = { method: 'GET', path: '/api/voices/arthur' };
const stream: HttpRequest = { method: 'POST', path: '/api/audio/speech', body };

export const bench: Bench = {
  about: 'one process, and 1, 2 and 4 replicas on PostgreSQL (requests per second; CPU time of the replicas)',
  async run() {
    await using opened = new AsyncDisposableStack();
    const fleets = await openFleets(opened);
    const loads = [
      { title: 'REST voice', request: voice, count: counts.voice },
      { title: 'REST stream, one word', request: stream, count: counts.stream },
    ];
    const rows: Cell[][] = [];
    let cpuToAlone = 0;
    for (const { title, request, count } of loads) {
      const costs = await compare<SetUp, readonly Service[]>(fleets, {
        ...{ rounds, warmUps: 1 },
        measure: (fleet) => load(fleet, request, count),
      });
      rows.push(...setUps.map((name, n) => rowOf(n === 0 ? title : '', name, costs, count)));
      if (request === voice) cpuToAlone = cpuRatio([costs['1 replica']], [costs.alone]);
    }
    const firsts: Cell[] = [];
    for (const name of ['alone', '1 replica'] as const) {
      const [{ httpPort, key }] = fleets[name] as [Service];
      firsts.push(median(await firstByteMs(httpPort, { ...stream, apiKey: key }, firstSounds)));
    }
    return {
      tables: [
        {
          title: `${connections} requests at once`,
          columns: [
            { name: 'load' },
            { name: 'service' },
            { name: 'requests/s' },
            { name: 'CPU us/request' },
            { name: 'requests/s : alone', digits: 2 },
            { name: 'CPU : alone', digits: 2 },
          ],
          rows,
        },
        {
          title: 'First sound of a stream over REST, one client, in ms (median)',
          columns: ['alone', '1 replica'].map((name) => ({ name, digits: 2 })),
          rows: [firsts],
        },
      ],
      goals: [{ name: 'REST voice: CPU, 1 replica : alone', figure: cpuToAlone, digits: 2, max: goals.cpuToAlone }],
    };
  },
};

async function openFleets(opened: AsyncDisposableStack): Promise<Fleets> {
  const postgres = await startPostgres();
  if (!postgres) throw new Error('PostgreSQL is needed, and was not found here');
  opened.defer(() => postgres.stop());
  const settings = {
    SONANT_DATABASE_URL: await postgres.createDatabase(),
    ...{ SONANT_SECRET: 'a secret of thirty-two characters', SONANT_MASTER_KEY: 'a master key of thirty-two chars.' },
  };
  const newFolder = () => mkdtempSync(join(tmpdir(), 'sonant-bench-replica-'));
  const keys = await openKeys(loadConfig({ env: settings, folder: newFolder(), engines: [] }));
  const limits = { requestsPerMinute: 1_000_000, concurrency: 10_000 };
  const { key } = await keys.management.create({ scopes: firstKeyScopes, limits }, operator);
  await keys.close();
  const open = async (more: Parameters<typeof openService>[0]) => {
    const service = await openService(more);
    opened.defer(() => service.close());
    return service;
  };
  const alone = await open({});
  const replicas: Service[] = [];
  for (let n = 0; n < 4; n++) replicas.push(await open({ settings, left: { dataDir: newFolder(), key } }));
  return {
    alone: [alone],
    '1 replica': replicas.slice(0, 1),
    '2 replicas': replicas.slice(0, 2),
    '4 replicas': replicas,
  };
}

/** Sends the requests to all replicas at once, an equal share to each. */
async function load(fleet: readonly Service[], request: HttpRequest, count: number): Promise<Cost> {
  const cpu = () => fleet.reduce((sum, service) => sum + cpuMsOf(service), 0);
  const [cpuMs, startMs] = [cpu(), performance.now()];
  const part = { connections: connections / fleet.length, count: count / fleet.length };
  const each = ({ httpPort: port, key: apiKey }: Service) =>
    loadHttp({ port, request: { ...request, apiKey }, ...part });
  await Promise.all(fleet.map(each));
  return { wallMs: performance.now() - startMs, cpuMs: cpu() - cpuMs };
}

function rowOf(title: string, name: SetUp, costs: Costs<SetUp>, count: number): Cell[] {
  const figures = [(1000 * count) / wallOf(costs[name]), (1000 * cpuOf(costs[name])) / count];
  if (name === 'alone') return [title, name, ...figures];
  const rate = median(costs.alone.map(({ wallMs }, round) => wallMs / costs[name][round]!.wallMs));
  return [title, name, ...figures, rate, cpuRatio([costs[name]], [costs.alone])];
}
