// Tests the admission of calls, before a byte of the body is read, and of calls within this process.

import { once } from 'node:events';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectError, createClient } from '@connectrpc/connect';
import { describe, expect, test } from 'vitest';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import type { KeyManagement } from '../../../src/accounts/keys/key-management.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { explain, failureOf } from './grpc-client.ts';
import { openTestServices } from './open-services.ts';
import { fromConnectError } from './received-failure.ts';

const request = { voiceId: 'ada', text: 'hello' };
const withKey = (key: string) => ({ metadata: { 'x-api-key': key } });

describe('over gRPC', () => {
  test.each([
    ['no key', {}, 'UNAUTHENTICATED', 'INVALID_API_KEY'],
    ['a wrong key', withKey('wrong'), 'UNAUTHENTICATED', 'INVALID_API_KEY'],
    ['a key without the scope', withKey('poor'), 'PERMISSION_DENIED', 'INSUFFICIENT_SCOPE'],
    ['a key over its limit', withKey('slowed'), 'RESOURCE_EXHAUSTED', 'RATE_LIMIT_EXCEEDED'],
    ['a bug in admission', withKey('broken'), 'INTERNAL', 'INTERNAL_ERROR'],
  ])('%s is refused', async (_, call, code, reason) => {
    const { speech, fakeSpeech, calls } = await openTestServices();
    const reported = explain(await failureOf(speech.unary('synthesizeSpeech', request, call)));
    expect(reported).toMatchObject({ code, info: { reason } });
    if (code === 'PERMISSION_DENIED') expect(reported.info?.metadata).toEqual({ required_scopes: 'speech:synthesize' });
    expect(fakeSpeech.counts.begun).toBe(0);
    expect(calls).toMatchObject([{ status: code, callerId: undefined, messageCount: 0 }]);
  });

  test('a refusal does not wait for the body, and the rest of it is not read', async () => {
    const { target } = await openTestServices();
    const session = connect(`http://${target}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/sonant.v1.SpeechService/SynthesizeSpeech',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.write(Buffer.alloc(100_000));
    let trailers: Record<string, unknown> = {};
    stream.on('trailers', (received) => (trailers = received)).resume();
    await once(stream, 'close');
    expect(trailers['grpc-status']).toBe('16');
    session.destroy();
  });
});

test('a revoked key ends its calls, except one that manages keys: it may have revoked itself', async () => {
  const keys = {
    async revoke() {
      opened.runner.checkKeys();
      await sleep(50);
      throw new Failure('not_found');
    },
  } as unknown as KeyManagement;
  const opened = await openTestServices({ isInForce: async () => false, keys });
  const reasonOf = (call: Promise<unknown>) => call.catch((error: ConnectError) => fromConnectError(error).reason);
  const speech = createClient(SpeechService, opened.transport);
  const options = { headers: { 'x-api-key': 'good' } };
  const listen = async () => {
    const spoken = speech.streamSpeech({ voiceId: 'ada', textChunks: ['pieces=20 wait=5'] }, options);
    for await (const _ of spoken) opened.runner.checkKeys();
  };
  expect(await reasonOf(listen())).toBe('invalid_api_key');
  const management = createClient(ApiKeyService, opened.transport);
  expect(await reasonOf(management.revokeApiKey({ keyId: 'good-caller-key' }, options))).toBe('not_found');
});
