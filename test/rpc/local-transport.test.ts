// The gateway's way in: what is particular to it. That it answers as the wire does is shown in speech-service.test.ts.
import { createClient } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { ReturnFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import type { Delivered } from '../../src/delivery/delivery.ts';
import { openTestServices } from './open-services.ts';

const key = { headers: { 'x-api-key': 'good' } };

test('sound passes as it is, without a copy', async () => {
  const { services, heart } = await openTestServices();
  const audio = Buffer.alloc(1000, 7);
  const { deliver } = heart.delivery;
  heart.delivery.deliver = async (...args): Promise<Delivered> => ({
    ...(await deliver(...args)),
    byteCount: audio.length,
    open: async function* () {
      yield audio;
    },
  });
  const request = { voiceId: 'ada', text: 'x', returnFormat: ReturnFormat.INLINE };
  const answer = await createClient(SpeechService, services.transport).synthesizeSpeech(request, key);
  expect(answer.audio.value).toBe(audio);
});

test('a reader who returns early ends the call, and the heart', async () => {
  const { services, heart, calls } = await openTestServices();
  const method = SpeechService.method.streamSpeech;
  async function* input() {
    yield { voiceId: 'ada', textChunks: ['pieces=100000 wait=5'] };
  }
  const response = await services.transport.stream(method, undefined, undefined, key.headers, input());
  for await (const { event } of response.message) if (event.case === 'audio') break;
  expect(calls).toMatchObject([{ status: 'CANCELLED', messageCount: 2 }]);
  await expect.poll(() => heart.counts.running).toBe(0);
});

test('services without a key are served too, in both directions at once', async () => {
  const { services } = await openTestServices();
  expect((await createClient(Health, services.transport).check({})).status).toBe(1);
  async function* questions() {
    yield { messageRequest: { case: 'listServices' as const, value: '' } };
  }
  const answers = createClient(ServerReflection, services.transport).serverReflectionInfo(questions());
  const [answer] = await Array.fromAsync(answers);
  expect(answer?.messageResponse.case).toBe('listServicesResponse');
});

test('a signal that has aborted before the call is heard', async () => {
  const { services, heart } = await openTestServices();
  const signal = AbortSignal.abort(new Error('gone'));
  const client = createClient(SpeechService, services.transport);
  await expect(client.synthesizeSpeech({ voiceId: 'ada', text: 'wait=10' }, { ...key, signal })).rejects.toMatchObject({
    code: 1,
  });
  await expect(
    Array.fromAsync(client.streamSpeech({ voiceId: 'ada', textChunks: ['x'] }, { ...key, signal })),
  ).rejects.toMatchObject({ code: 1 });
  await expect.poll(() => heart.counts.running).toBe(0);
});
