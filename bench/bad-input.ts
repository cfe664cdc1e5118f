// Measures the cost of a megabyte of bad input to other callers: for each kind of input at each API, the longest turn
// of the service's event loop, in CPU time of its main thread. Meanwhile an honest caller polls /healthz, and its
// waiting times are wall-clock time.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { AskedService } from './bad-input/serve.ts';
import { grpcInputs, httpInputs, type Sent, socketInputs } from './bad-input/shapes.ts';
import { startProcess } from './measuring/asked-process.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { median } from './measuring/rounds.ts';

const sends = 5;
/** Number of sends before the measurement, during which V8 compiles. */
const warmUps = 3;
const askEveryMs = 5;
/** Number of kinds of input that are shown separately. */
const worstShown = 15;
const goalMs = 5;

interface Measured {
  api: string;
  kind: string;
  /** Longest turn of the service's event loop during each send. */
  turnsMs: number[];
  waitsMs: number[];
}

interface Asked {
  service: AskedService;
  /** Returns the longest turn of the service's event loop since the previous call. */
  longestTurnMs(): Promise<number>;
  waitsMs: number[];
}

export const bench: Bench = {
  about: 'the longest block of the event loop while 1 MiB of invalid input is refused, by API and kind',
  async run() {
    await using opened = new AsyncDisposableStack();
    const asked = await start(opened);
    const measured: Measured[] = [];
    const run = async (api: string, kind: string, send: () => Promise<void>) =>
      measured.push(await measure(asked, { api, kind, send }));
    for (const [api, all] of Object.entries(httpInputs()))
      for (const sent of all) await run(api, sent.kind, () => post(asked.service, sent));
    for (const [api, all] of Object.entries(grpcInputs()))
      for (const sent of all) await run(api, sent.kind, () => call(asked.service, sent));
    for (const { kind, message } of socketInputs())
      await run('WebSocket, 256 KiB', kind, () => say(asked.service, message));
    const apis = [...new Set(measured.map(({ api }) => api))];
    const worst = measured.toSorted((a, b) => median(b.turnsMs) - median(a.turnsMs));
    return {
      tables: [
        {
          title: `By API, the kind with the longest turn (median of ${sends} sends)`,
          columns: [{ name: 'API' }, ...columns],
          rows: apis.map((name) => [name, ...rowOf(worst.find(({ api }) => api === name)!)]),
        },
        {
          title: 'The longest turns of all',
          columns: [{ name: 'API' }, ...columns],
          rows: worst.slice(0, worstShown).map((each) => [each.api, ...rowOf(each)]),
        },
      ],
      goals: [
        { name: 'longest turn of the worst kind, ms', figure: median(worst[0]!.turnsMs), digits: 1, max: goalMs },
      ],
    };
  },
};

const columns = [
  { name: 'kind' },
  { name: 'CPU ms', digits: 1 },
  { name: 'worst', digits: 1 },
  { name: 'worst wait of an honest caller, ms', digits: 1 },
];

const rowOf = ({ kind, turnsMs, waitsMs }: Measured): Cell[] => [
  kind,
  median(turnsMs),
  Math.max(...turnsMs),
  Math.max(...waitsMs, 0),
];

async function start(opened: AsyncDisposableStack): Promise<Asked> {
  const {
    told: service,
    ask: longestTurnMs,
    close,
  } = await startProcess<AskedService>(join(import.meta.dirname, 'bad-input/serve.ts'));
  opened.defer(close);
  const waitsMs: number[] = [];
  let isOver = false;
  opened.defer(() => {
    isOver = true;
  });
  const ask = async () => {
    while (!isOver) {
      const sinceMs = performance.now();
      await (await fetch(`http://127.0.0.1:${service.httpPort}/healthz`)).text();
      waitsMs.push(performance.now() - sinceMs);
      await sleep(askEveryMs);
    }
  };
  void ask().catch(() => {});
  return { service, waitsMs, longestTurnMs };
}

async function measure(
  { longestTurnMs, waitsMs }: Asked,
  { api, kind, send }: { api: string; kind: string; send: () => Promise<void> },
): Promise<Measured> {
  const turnsMs: number[] = [];
  for (let n = -warmUps; n < sends; n++) {
    if (n === 0) waitsMs.length = 0;
    await longestTurnMs();
    await send();
    const longestMs = await longestTurnMs();
    if (n >= 0) turnsMs.push(longestMs);
  }
  return { api, kind, turnsMs, waitsMs: [...waitsMs] };
}

async function post({ httpPort, apiKey }: AskedService, { path, type, encoding, body }: Sent): Promise<void> {
  const headers = {
    'X-API-Key': apiKey,
    'xi-api-key': apiKey,
    'Content-Type': type,
    ...(encoding && { 'Content-Encoding': encoding }),
  };
  const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  // gRPC-Web sends the status in its trailers.
  if (answer.ok && !type.startsWith('application/grpc-web')) throw new Error(`${path} took bad input`);
  if ([401, 403, 404, 415, 429].includes(answer.status)) throw new Error(`${path}: ${answer.status}`);
}

/** Uses a new connection, because Node counts unsent data of refused calls against their connection. */
async function call({ grpcPort, apiKey }: AskedService, { path, type, body }: Sent): Promise<void> {
  const session = connect(`http://127.0.0.1:${grpcPort}`);
  session.on('error', () => {});
  const headers = { ':method': 'POST', ':path': path, 'content-type': type, te: 'trailers', 'x-api-key': apiKey };
  const stream = session.request(headers);
  let status: unknown;
  stream.on('response', (head) => (status = head['grpc-status']));
  stream.on('trailers', (trailers) => (status = trailers['grpc-status']));
  // The stream may be reset after a refused message.
  stream.on('error', () => {});
  const closed = new Promise((resolve) => stream.once('close', resolve));
  stream.resume().end(body);
  await closed;
  session.destroy();
  if (status === '0') throw new Error(`${path} took bad input`);
}

async function say({ httpPort, apiKey }: AskedService, message: string): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${httpPort}/api/audio/speech/live`, {
    headers: { 'X-API-Key': apiKey },
  });
  await once(socket, 'open');
  socket.send(message);
  await once(socket, 'close');
}
