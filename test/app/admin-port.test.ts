// Tests the listeners of a configured service: a separate port for health and metrics, connection limits that do not
// affect this port, and ports that are set twice.
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../free-port.ts';
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
