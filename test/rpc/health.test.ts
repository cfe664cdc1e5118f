// grpc.health.v1 by a gRPC client, without a key.
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { Health, type HealthCheckResponse } from '../../gen/health/v1/health_pb.ts';
import { explain, failureOf, openGrpcClient } from './grpc-client.ts';
import { openTestServices } from './open-services.ts';

const [serving, notServing, unknown] = [1, 2, 3];

async function open() {
  const services = await openTestServices();
  const client = openGrpcClient(Health, services.target);
  onTestFinished(() => client.close());
  return { ...services, client };
}

test('each service and the whole are serving, until they stop', async () => {
  const { client, services } = await open();
  const check = async (service: string) => (await client.unary('check', { service })).status;
  const names = ['', 'sonant.v1.SpeechService', 'sonant.v1.VoiceService', 'sonant.v1.ApiKeyService'];
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
