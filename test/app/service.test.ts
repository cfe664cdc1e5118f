// Tests a configured service: its listeners for the public, operators and Wyoming, quotas, secrets shared by replicas, the
// log of floods, metrics in seconds, and stopping while dependencies are unreachable.
import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import type { EndedCall } from '../../src/api/call.ts';
import { createCallMetrics } from '../../src/api/runner.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openCallLog } from '../../src/app/opening.ts';
import { checkSharedSecrets, missingSecrets } from '../../src/app/secrets.ts';
import { drainListeners } from '../../src/app/service.ts';
import { Failure, type Reason } from '../../src/platform/errors.ts';
import { ConfigError } from '../../src/platform/runtime/config-mistakes.ts';
import { createFingerprintRows } from '../../src/platform/store/open-store.ts';
import { createLog, type Log } from '../../src/platform/telemetry/log.ts';
import { createMetrics } from '../../src/platform/telemetry/prometheus.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createRequestWatch } from '../../src/transports/http/http-app.ts';
import { freePort } from '../free-port.ts';
import { openSqliteInFolder } from '../platform/store/open-test-store.ts';
import { startOwnPostgres } from '../platform/store/postgres-server.ts';
import { isInstalled } from '../programs.ts';
import { openClient } from '../transports/vendors/wyoming/wyoming-client.ts';
import { openConfigured } from './open-configured.ts';

const open = (settings: Record<string, string>, isSinglePort = false) => openConfigured(settings, { isSinglePort });

async function ask(port: number, path: string): Promise<{ status: number; body: string }> {
  const call = get({ host: '127.0.0.1', port, path, agent: false });
  const [reply] = (await once(call, 'response')) as [IncomingMessage];
  return { status: reply.statusCode!, body: Buffer.concat(await reply.toArray()).toString() };
}

const statusesAt = (port: number) =>
  Promise.all(['/healthz', '/readyz', '/metrics', '/api/voices'].map(async (path) => (await ask(port, path)).status));

test('without a port for operators, the public one has health and metrics', async () => {
  const { httpPort, adminPort } = await open({});
  expect(adminPort).toBeUndefined();
  expect(await statusesAt(httpPort)).toEqual([200, 200, 200, 401]);
});

test('metrics are on the port for operators alone, which has health too and nothing else', async () => {
  const { httpPort, adminPort } = await open({ SONANT_ADMIN_ADDR: '127.0.0.1:0' });
  expect(await statusesAt(httpPort)).toEqual([200, 200, 404, 401]);
  expect(await statusesAt(adminPort!)).toEqual([200, 200, 200, 404]);
  expect((await ask(adminPort!, '/metrics')).body).toContain('sonant_process_resident_bytes');
});

test('it tells that the service is stopping, until it has stopped', async () => {
  const { adminPort, drain } = await open({ SONANT_ADMIN_ADDR: '127.0.0.1:0', SONANT_LEAVE_SECONDS: '1' });
  const drained = drain();
  const { status, body } = await ask(adminPort!, '/readyz');
  expect([status, body]).toEqual([503, expect.stringContaining('it is stopping')]);
  expect((await ask(adminPort!, '/healthz')).status).toBe(200);
  await drained;
  await expect(ask(adminPort!, '/healthz')).rejects.toThrow('ECONNREFUSED');
});

test.each([false, true])('idle connections of one address lock nobody out, on one port: %s', async (isSinglePort) => {
  const settings = { SONANT_ADMIN_ADDR: '127.0.0.1:0', SONANT_CONNECTIONS_PER_ADDRESS: '20' };
  const { httpPort, grpcPort, adminPort } = await open(settings, isSinglePort);
  const idle = Array.from({ length: 60 }, (_, n) => connect(n % 2 ? httpPort : grpcPort, '127.0.0.1'));
  onTestFinished(() => {
    for (const socket of idle) socket.destroy();
  });
  for (const socket of idle) socket.on('error', () => {}).resume();
  await Promise.all(idle.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  await expect.poll(() => idle.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(20);
  expect(await statusesAt(httpPort)).toEqual([200, 200, 404, 401]);
  expect(await statusesAt(adminPort!)).toEqual([200, 200, 200, 404]);
});

test('two listeners on one port are told as that, with the way to share it', async () => {
  const port = await freePort();
  const at = (host: string) => ({ SONANT_HTTP_ADDR: `127.0.0.1:${port}`, SONANT_GRPC_ADDR: `${host}:${port}` });
  const shared = `SONANT_GRPC_ADDR = 127.0.0.1:${port} (environment): SONANT_HTTP_ADDR is set to the same port; sonant serve --single-port serves HTTP and gRPC on one port`;
  await expect(open(at('127.0.0.1'))).rejects.toThrow(shared);
  await expect(open(at('0.0.0.0'))).rejects.toThrow('SONANT_HTTP_ADDR is set to the same port');
  await expect(open({ SONANT_HTTP_ADDR: `127.0.0.1:${port}`, SONANT_ADMIN_ADDR: `127.0.0.1:${port}` })).rejects.toThrow(
    `SONANT_ADMIN_ADDR = 127.0.0.1:${port} (environment): SONANT_HTTP_ADDR is set to the same port`,
  );
  expect((await open(at('127.0.0.1'), true)).httpPort).toBe(port);
});

test('all addresses that another program has are told at once, with others to choose', async () => {
  const { httpPort, grpcPort } = await open({});
  const taken = open({
    SONANT_HTTP_ADDR: `127.0.0.1:${httpPort}`,
    SONANT_GRPC_ADDR: `127.0.0.1:${grpcPort}`,
  });
  const { message } = (await taken.catch((error: Error) => error)) as Error;
  const lineOf = (name: string, port: number) =>
    new RegExp(
      `${name} = 127.0.0.1:${port} \\(environment\\): the port is in use, perhaps by another Sonant; .*${name}=127.0.0.1:(?!${port}$)\\d+$`,
      'm',
    );
  expect(message).toMatch(lineOf('SONANT_HTTP_ADDR', httpPort));
  expect(message).toMatch(lineOf('SONANT_GRPC_ADDR', grpcPort));
});

test('the quotas of the settings hold, and are reported with what is stored', async () => {
  const { url, key } = await openConfigured({ SONANT_AUDIO_MIB_MAX: '4096', SONANT_AUDIO_MIB_PER_KEY: '1' });
  const speak = async (text: string) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ voice_id: 'tone-low', text, sample_rate: 24_000 });
    const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return answer.status;
  };
  expect(await speak('Hello there.')).toBe(200);
  expect(await speak('one two three four '.repeat(60))).toBe(507);
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  expect(figure('sonant_audio_stored_bytes')).toBeGreaterThan(20_000);
  expect(figure('sonant_audio_quota_bytes')).toBe(2 ** 32);
  expect(figure('sonant_audio_key_quota_bytes')).toBe(2 ** 20);
  expect(figure('sonant_audio_free_bytes')).toBeGreaterThan(0);
  expect([figure('sonant_audio_removed_total'), figure('sonant_usage_pending_rows')]).toEqual([0, 0]);
});

test('durations of calls, requests and waits are in seconds', async () => {
  const metrics = createMetrics();
  const countCall = createCallMetrics(metrics);
  countCall({
    ...{ requestId: 'req_1', callerId: 'ada', failure: undefined, durationMs: 250, status: 'OK', messageCount: 1 },
    ...{ method: 'SynthesizeSpeech', api: 'grpc', keyId: 'key_1', traceId: undefined },
    speech: { voiceId: 'ada', engine: 'tone', characters: 7, firstSoundMs: 125, audioSeconds: 1.5 },
  });
  const now = vi.spyOn(performance, 'now').mockReturnValueOnce(1_000).mockReturnValueOnce(1_250);
  const raw = Object.assign(new EventEmitter(), { statusCode: 200 });
  const request = { id: 'req_1', method: 'GET', routeOptions: { url: '/api/voices' } };
  createRequestWatch(metrics, () => {})(request as never, { raw } as never);
  raw.emit('close');
  now.mockRestore();
  const clock = { ms: 0 };
  const schedule = new Schedule({ speakingMax: 1, waitingMax: 1, metrics, now: () => clock.ms });
  const engine = { name: 'tone', capabilities: {} };
  const seat = { engine, resource: undefined, isClone: false };
  const demand = { owner: 'ada', kind: 'bulk', seat, bytesMax: 0 } as const;
  const { signal } = new AbortController();
  const first = await schedule.begin(demand, signal);
  const second = schedule.begin(demand, signal);
  clock.ms += 500;
  first.end();
  (await second).end();
  const sums = [...metrics.text().matchAll(/^(\w+_seconds)_sum\S* (\S+)$/gm)].map(([, name, sum]) => [name, sum]);
  expect(Object.fromEntries(sums)).toMatchObject({
    sonant_call_seconds: '0.25',
    rpc_server_call_duration_seconds: '0.25',
    http_server_request_duration_seconds: '0.25',
    sonant_first_sound_seconds: '0.125',
    sonant_wait_seconds: '0.5',
  });
});

test.skipIf(!isInstalled('postgres'))('a database that is away is no reason not to stop well', async () => {
  const postgres = (await startOwnPostgres())!;
  onTestFinished(() => rmSync(postgres.folder, { recursive: true }));
  const logged: string[] = [];
  const keep = (level: string) => (message: string) => void logged.push(`${level}: ${message}`);
  const log: Log = { debug() {}, info() {}, warn: keep('warn'), error: keep('error') };
  const settings = {
    ...{ SONANT_DATABASE_URL: await postgres.createDatabase() },
    ...{ SONANT_SECRET: 's'.repeat(32), SONANT_MASTER_KEY: 'm'.repeat(32) },
  };
  const service = await openConfigured(settings, { log });
  const headers = { 'X-API-Key': service.key };
  expect((await fetch(`${service.url}/api/voices`, { headers })).status).toBe(200);
  await postgres.kill();
  // The failure to store the last-used time is logged, as is each failed read of the voices.
  await service.drain();
  // An unreachable database is not a bug of Sonant, so it is a warning.
  expect(new Set(logged)).toEqual(new Set(['warn: background fault']));
});

test('a listener that fails is reported, and the other is still waited for', async () => {
  const { promise: slow, resolve: end } = Promise.withResolvers<void>();
  const seen: unknown[] = [];
  const listeners = [
    { drain: async (timeoutMs: number) => Promise.reject(`failed within ${timeoutMs}`) },
    { drain: () => slow },
  ];
  const drained = drainListeners(listeners, 20, (fault) => seen.push(fault)).then(() => seen.push('over'));
  await new Promise(setImmediate);
  expect(seen).toEqual([]);
  end();
  await drained;
  expect(seen).toEqual(['failed within 20', 'over']);
});

const { key } = createApiKey();

const openWyoming = (wyoming: Record<string, string>) => open({ SONANT_BOOTSTRAP_KEY: key, ...wyoming });

const mistakesOf = async (wyoming: Record<string, string>) => {
  try {
    await openWyoming(wyoming);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes.map(({ name, given }) => [name, given]);
    throw error;
  }
  return [];
};

test('the Wyoming listener speaks with the key that is set, and ends with the service', async () => {
  const service = await openWyoming({ SONANT_WYOMING_ADDR: '127.0.0.1:0', SONANT_WYOMING_KEY: key });
  const { socket, send, until, next } = openClient(service.wyomingPort!);
  send('synthesize', { text: 'Hello.' });
  expect((await until('audio-stop')).at(-1)).toMatchObject({ type: 'audio-stop' });
  const drained = service.drain();
  expect(await next()).toBeUndefined();
  socket.end();
  await drained;
});

test('it is off by default', async () => {
  expect((await openWyoming({})).wyomingPort).toBeUndefined();
});

const off = '(secret)';
test.each<[Record<string, string>, (string | undefined)[][]]>([
  [{ SONANT_WYOMING_ADDR: '127.0.0.1:0' }, [['SONANT_WYOMING_KEY', '']]],
  [{ SONANT_WYOMING_ADDR: '127.0.0.1:0', SONANT_WYOMING_KEY: 'snt_wrong' }, [['SONANT_WYOMING_KEY', off]]],
  [{ SONANT_WYOMING_ADDR: '10200', SONANT_WYOMING_KEY: key }, [['SONANT_WYOMING_ADDR', '10200']]],
  [{ SONANT_WYOMING_ADDR: '0.0.0.0:0', SONANT_WYOMING_KEY: key }, [['SONANT_WYOMING_ADDR', '0.0.0.0:0']]],
  [{ SONANT_WYOMING_ADDR: '[::]:0', SONANT_WYOMING_KEY: key }, [['SONANT_WYOMING_ADDR', '[::]:0']]],
  [
    { SONANT_WYOMING_ADDR: '0.0.0.0:0', SONANT_WYOMING_KEY: key, SONANT_WYOMING_ALLOW: 'anyone' },
    [['SONANT_WYOMING_ALLOW', 'anyone']],
  ],
  [{ SONANT_WYOMING_ADDR: '0.0.0.0:0', SONANT_WYOMING_KEY: key, SONANT_WYOMING_ALLOW: '192.168.1.0/24' }, []],
  [{ SONANT_WYOMING_ADDR: 'localhost:0', SONANT_WYOMING_KEY: key }, []],
])('%j has the mistakes %j', async (wyoming, mistakes) => {
  expect(await mistakesOf(wyoming)).toEqual(mistakes);
});

const readLine = (line: string) => JSON.parse(line) as Record<string, unknown>;

const ended = (reason?: Reason, callerId?: string): EndedCall => ({
  requestId: 'req_1',
  method: 'sonant.v1.SpeechService/StreamSpeech',
  api: 'grpc',
  callerId,
  status: reason ? 'UNAUTHENTICATED' : 'OK',
  failure: reason && new Failure(reason),
  durationMs: 1,
  messageCount: 0,
  keyId: callerId,
  traceId: undefined,
  speech: {},
});

test('a flood of calls without a key is a few lines and their number; calls of known callers have a line each', () => {
  const logged: string[] = [];
  const callLog = openCallLog(createLog('info', (line) => logged.push(line)));
  for (let i = 0; i < 5000; i++) callLog.write(ended('invalid_api_key'));
  for (let i = 0; i < 50; i++) callLog.write(ended('rate_limit_exceeded', 'key_1'));
  for (let i = 0; i < 50; i++) callLog.write(ended());
  for (let i = 0; i < 50; i++) callLog.write(ended('internal_error'));
  callLog.close();
  const lines = logged.map(readLine);
  const of = (reason?: string) => lines.filter((line) => line.reason === reason && line.message === 'call');
  expect(of('invalid_api_key')).toHaveLength(10);
  expect([of('rate_limit_exceeded').length, of().length, of('internal_error').length]).toEqual([50, 50, 50]);
  expect(lines.at(-1)).toMatchObject({ reason: 'invalid_api_key', count: 4990 });
});

test('a flood of calls that are refused for overload is a few lines a key and their number', () => {
  const logged: string[] = [];
  const callLog = openCallLog(createLog('info', (line) => logged.push(line)));
  for (let i = 0; i < 5000; i++) for (const key of ['key_1', 'key_2']) callLog.write(ended('overloaded', key));
  callLog.close();
  const lines = logged.map(readLine);
  expect(lines.filter(({ message }) => message === 'call')).toHaveLength(20);
  expect(lines.slice(-2)).toMatchObject([
    {
      message: 'more calls refused for overload in the last minute',
      reason: 'overloaded',
      keyId: 'key_1',
      count: 4990,
    },
    { keyId: 'key_2', count: 4990 },
  ]);
});

test('times are logged to the microsecond', () => {
  const logged: string[] = [];
  const callLog = openCallLog(createLog('info', (line) => logged.push(line)));
  for (const failure of [undefined, new Failure('voice_not_found')])
    callLog.write({ ...ended(undefined, 'key_1'), failure, durationMs: 3.1327299999993556 });
  callLog.close();
  expect(logged.map((line) => JSON.parse(line).durationMs)).toEqual([3.133, 3.133]);
});

const secret = 'a secret of thirty-two characters';
const masterKey = 'a master key of thirty-two chars.';

async function openSecrets() {
  const { folder, store } = await openSqliteInFolder();
  const rows = createFingerprintRows(store);
  const start = async (env: Record<string, string>, seen = rows) => {
    const config = loadConfig({ env, folder, engines: [] });
    return checkSharedSecrets(config, seen).then(
      () => [],
      ({ mistakes }) => mistakes.map(({ name }: { name: string }) => name),
    );
  };
  return { store, rows, start };
}

test('secrets must match the stored ones, and may differ where the operator accepts it', async () => {
  const { store, start } = await openSecrets();
  const env = { SONANT_SECRET: secret, SONANT_MASTER_KEY: masterKey };
  expect([await start(env), await start(env)]).toEqual([[], []]);
  expect(await start({ ...env, SONANT_SECRET: `${secret}!`, SONANT_KEY_PEPPER: 'x' })).toEqual([
    'SONANT_SECRET',
    'SONANT_KEY_PEPPER',
  ]);
  expect(await start({ ...env, SONANT_SECRET: `${secret}!`, SONANT_NEW_SECRETS: '1' })).toEqual([]);
  expect(await start(env)).toEqual(['SONANT_SECRET']);
  const kept = JSON.stringify(await store.query('select * from fingerprints'));
  expect(kept).not.toContain(secret);
});

test('secrets are missing only where the database is shared', () => {
  const missing = (env: Record<string, string>) =>
    missingSecrets(loadConfig({ env, folder: tmpdir(), engines: [] })).map(({ name }) => name);
  const databaseUrl = { SONANT_DATABASE_URL: 'postgres://127.0.0.1/sonant' };
  expect(missing({})).toEqual([]);
  expect(missing(databaseUrl)).toEqual(['SONANT_SECRET', 'SONANT_MASTER_KEY']);
  expect(missing({ ...databaseUrl, SONANT_MASTER_KEY: masterKey })).toEqual(['SONANT_SECRET']);
});

test('secrets that are refused leave no fingerprint of the others', async () => {
  const { store, start } = await openSecrets();
  const env = { SONANT_SECRET: secret, SONANT_MASTER_KEY: masterKey };
  await start(env);
  await store.query("delete from fingerprints where name = 'SONANT_KEY_PEPPER'");
  expect(await start({ ...env, SONANT_MASTER_KEY: `${masterKey}!`, SONANT_KEY_PEPPER: 'x' })).toEqual([
    'SONANT_MASTER_KEY',
  ]);
  expect(await start({ ...env, SONANT_KEY_PEPPER: 'y' })).toEqual([]);
});

test('secrets that another replica records at the same time leave no mixture', async () => {
  const { store, rows, start } = await openSecrets();
  const other = { SONANT_SECRET: `${secret}!`, SONANT_MASTER_KEY: `${masterKey}!` };
  const record: typeof rows.record = async (name, ...rest) => {
    if (name === 'SONANT_SECRET') await rows.record(name, 'of the other replica', false);
    return rows.record(name, ...rest);
  };
  expect(await start(other, { ...rows, record })).toEqual(['SONANT_SECRET']);
  const names = await store.query('select name from fingerprints');
  expect(names).toEqual([{ name: 'SONANT_SECRET' }]);
});
