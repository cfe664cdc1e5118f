// Tests grpc.health.v1 with a gRPC client, without a key.
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { Health, type HealthCheckResponse } from '../../../gen/health/v1/health_pb.ts';
import { openCallLimits } from '../../../src/api/call-limits.ts';
import { explain, failureOf, openGrpcClient } from './grpc-client.ts';
import { openTestServices, type ServicesTestOptions } from './open-services.ts';
import { envelope, openSession, request } from './raw-grpc.ts';
import { sonantServices } from './sonant-services.ts';

const [serving, notServing, unknown] = [1, 2, 3];

async function open(options: ServicesTestOptions = {}) {
  const services = await openTestServices(options);
  const client = openGrpcClient(Health, services.target);
  onTestFinished(() => client.close());
  return { ...services, client };
}

test('each service and the whole are serving, until they stop', async () => {
  const { client, services } = await open();
  const check = async (service: string) => (await client.unary('check', { service })).status;
  const names = ['', ...sonantServices.map(({ typeName }) => typeName)];
  for (const name of names) expect(await check(name)).toBe(serving);
  services.health.close();
  for (const name of names) expect(await check(name)).toBe(notServing);
  const { statuses } = await client.unary('list', {});
  expect(Object.entries(statuses).map(([name, { status }]) => [name, status])).toEqual(
    names.map((name) => [name, notServing]),
  );
  expect(explain(await failureOf(check('nobody'))).code).toBe('NOT_FOUND');
});

test('a watcher is notified of NOT_SERVING, and then the stream ends', async () => {
  const { client, server } = await open();
  const watch = (service: string) => {
    const seen: number[] = [];
    const stream = client.stream('watch', { service });
    stream.on('data', ({ status }: HealthCheckResponse) => seen.push(status));
    return { seen, stream, ended: once(stream, 'error').then(([error]) => explain(error).code) };
  };
  const [all, nobody, gone] = [watch(''), watch('nobody'), watch('')];
  gone.ended.catch(() => {});
  await expect.poll(() => [all.seen, nobody.seen, gone.seen]).toEqual([[serving], [unknown], [serving]]);
  gone.stream.cancel();
  await server.drain(60_000);
  expect(await Promise.all([all.ended, nobody.ended])).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
  expect(all.seen).toEqual([serving, notServing]);
  expect(gone.seen).toEqual([serving]);
});

const watchPath = '/grpc.health.v1.Health/Watch';

test('health watches per connection and per address are limited, over gRPC and Connect', async () => {
  const { client, webUrl } = await open({ openLimits: { ...openCallLimits, perConnectionMax: 2, perAddressMax: 3 } });
  const watch = () => {
    const stream = client.stream('watch', { service: '' });
    const ended = once(stream, 'error').then(([error]) => explain(error));
    const answered = once(stream, 'data');
    for (const promise of [ended, answered]) promise.catch(() => {});
    return { stream, ended, answered };
  };
  const first = watch();
  await first.answered;
  await watch().answered;
  const refusal = { code: 'RESOURCE_EXHAUSTED', info: { reason: 'RATE_LIMIT_EXCEEDED', metadata: { limit: '2' } } };
  expect(await watch().ended).toMatchObject(refusal);
  const overConnect = () =>
    fetch(`${webUrl}${watchPath}`, {
      method: 'POST',
      headers: { 'content-type': 'application/connect+json' },
      body: envelope(Buffer.from('{}')),
    });
  const third = (await overConnect()).body!.getReader();
  expect(Buffer.from((await third.read()).value!).toString()).toContain('SERVING');
  expect(await (await overConnect()).text()).toContain('"resource_exhausted"');
  // The slot of a cancelled call is free again.
  first.stream.cancel();
  await third.cancel();
  await expect.poll(async () => (await client.unary('check', { service: '' })).status).toBe(serving);
  await watch().answered;
});

test('a watch ends at its deadline', async () => {
  const { client } = await open({ openLimits: { ...openCallLimits, streamMs: 50 } });
  const stream = client.stream('watch', { service: '' });
  stream.on('data', () => {});
  const [error] = await once(stream, 'error');
  expect(explain(error).code).toBe('DEADLINE_EXCEEDED');
});

test('the connection of a caller that goes on though it is refused is closed', async () => {
  const openLimits = { ...openCallLimits, perConnectionMax: 1, refusals: { perMinute: 1, burst: 2 } };
  const { target, client, faults } = await open({ openLimits });
  const session = await openSession(target);
  const closed = once(session, 'close');
  for (let n = 0; n < 5; n++)
    request(session, watchPath)
      .resume()
      .end(envelope(Buffer.alloc(0)));
  await closed;
  const stream = client.stream('watch', { service: '' });
  expect(explain((await once(stream, 'error'))[0]).code).toBe('UNAVAILABLE');
  expect(faults).toEqual([]);
});
