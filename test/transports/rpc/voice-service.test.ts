// Tests the limits of requests to sonant.v1.VoiceService, with a gRPC client.

import { expect, onTestFinished, test } from 'vitest';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { explain, failureOf, openGrpcClient } from './grpc-client.ts';
import { goodKey, openTestServices } from './open-services.ts';

async function open() {
  const { target } = await openTestServices();
  const client = openGrpcClient(VoiceService, target);
  onTestFinished(() => client.close());
  const list = (request: object = {}) => client.unary('listVoices', request, goodKey);
  const faults = async (request: object) =>
    explain(await failureOf(list(request))).violations?.map(({ field, reason }) => `${field} ${reason}`);
  return { client, list, faults };
}

test('a query, a language, a page token and an engine are refused beyond their limits, whatever their size', async () => {
  const { list, faults } = await open();
  const words = 'a '.repeat(500_000);
  const refused = explain(await failureOf(list({ text: words })));
  expect(refused).toMatchObject({
    ...{ code: 'INVALID_ARGUMENT', info: { metadata: { limit: '200', actual: '1000000' } } },
    violations: [{ field: 'text', reason: 'TOO_LONG' }],
  });
  const cursor = Buffer.from(`after:${'x'.repeat(700_000)}`).toString('base64url');
  expect(await faults({ cursor })).toEqual(['cursor FORMAT']);
  const languageCode = `en-x${'-abcde'.repeat(150_000)}`;
  expect(await faults({ languageCode, engine: 'x'.repeat(201) })).toEqual(['engine TOO_LONG', 'language_code FORMAT']);
  expect((await list({ text: 'a '.repeat(100) })).voices.length).toBeGreaterThan(0);
});

test('an update mask of 900 paths is refused, and so is one of 170 000; one that names a field twice is taken', async () => {
  const { client } = await open();
  const update = (paths: string[]) => client.unary('updateVoice', { voiceId: 'ada', updateMask: { paths } }, goodKey);
  expect(explain(await failureOf(update(Array(900).fill('name'))))).toMatchObject({
    ...{ code: 'INVALID_ARGUMENT', info: { metadata: { limit: '100', actual: '900' } } },
    violations: [{ field: 'name' }, { field: 'update_mask' }],
  });
  expect(explain(await failureOf(update(Array(170_000).fill('name'))))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(explain(await failureOf(update(['name', 'name'])))).toMatchObject({ violations: [{ field: 'name' }] });
});
