// The gate: who gets in, before a byte of the body is read, and what a door of this process may do.

import { once } from 'node:events';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, createContextValues } from '@connectrpc/connect';
import { describe, expect, test } from 'vitest';
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { Failure } from '../../src/errors.ts';
import type { KeyManagement } from '../../src/keys/key-management.ts';
import { admittedKey, doorKey } from '../../src/rpc/call.ts';
import { requiredScopesOf } from '../../src/rpc/gate.ts';
import { explain, failureOf, openGrpcClient } from './grpc-client.ts';
import { callerNamed, openTestServices } from './open-services.ts';

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
    const { speech, heart, calls } = await openTestServices();
    const told = explain(await failureOf(speech.unary('synthesizeSpeech', request, call)));
    expect(told).toMatchObject({ code, info: { reason } });
    if (code === 'PERMISSION_DENIED') expect(told.info?.metadata).toEqual({ required_scopes: 'speech:synthesize' });
    expect(heart.counts.begun).toBe(0);
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

describe('through the local transport', () => {
  const caller = callerNamed('let in by the gateway', []);

  test('a call without admission passes the same gate', async () => {
    const { services, calls } = await openTestServices();
    const client = createClient(SpeechService, services.transport);
    await expect(client.synthesizeSpeech(request)).rejects.toMatchObject({ cause: { reason: 'invalid_api_key' } });
    await client.synthesizeSpeech(request, { headers: { 'x-api-key': 'good' } });
    expect(calls.map(({ callerId, status }) => [callerId, status])).toEqual([
      [undefined, 'UNAUTHENTICATED'],
      ['good-caller', 'OK'],
    ]);
  });

  test('a call that a door has admitted for its scopes is not asked again', async () => {
    const { services, calls } = await openTestServices();
    const scopes = requiredScopesOf(SpeechService.method.synthesizeSpeech);
    const contextValues = createContextValues().set(admittedKey, { caller, scopes }).set(doorKey, 'rest');
    await createClient(SpeechService, services.transport).synthesizeSpeech(request, { contextValues });
    expect(calls).toMatchObject([{ callerId: caller.callerId, door: 'rest', status: 'OK' }]);
  });

  test('a call that was admitted for other scopes is refused', async () => {
    const { services } = await openTestServices();
    const contextValues = createContextValues().set(admittedKey, { caller, scopes: ['voices:read'] });
    const call = createClient(SpeechService, services.transport).synthesizeSpeech(request, { contextValues });
    await expect(call).rejects.toMatchObject({ cause: { reason: 'insufficient_scope' } });
  });
});

test('every method of ours names its scopes', () => {
  const named = [SpeechService, VoiceService, ApiKeyService].flatMap(({ methods }) =>
    methods.map((method) => [method.name, requiredScopesOf(method)]),
  );
  expect(Object.fromEntries(named)).toEqual({
    SynthesizeSpeech: ['speech:synthesize'],
    StreamSpeech: ['speech:stream'],
    EstimateSpeech: ['speech:synthesize'],
    DeleteAudio: ['speech:synthesize'],
    CreateApiKey: ['keys:write'],
    ListApiKeys: ['keys:read'],
    GetApiKey: ['keys:read'],
    UpdateApiKey: ['keys:write'],
    RotateApiKey: ['keys:write'],
    RevokeApiKey: ['keys:write'],
    GetOwnApiKey: [],
    RevokeOwnApiKey: [],
    ListVoices: ['voices:read'],
    GetVoice: ['voices:read'],
    PreviewVoice: ['voices:read'],
    DescribeCloning: ['voices:read'],
    CreateVoice: ['voices:write'],
    CloneVoice: ['voices:write'],
    UpdateVoice: ['voices:write'],
    DeleteVoice: ['voices:write'],
    RevokeVoiceConsent: ['voices:write'],
  });
});

test('a voice list needs its scope too', async () => {
  const { target } = await openTestServices();
  const voices = openGrpcClient(VoiceService, target);
  expect(explain(await failureOf(voices.unary('listVoices', {}, withKey('poor')))).info?.reason).toBe(
    'INSUFFICIENT_SCOPE',
  );
  voices.close();
});

test('a key that ends takes its calls with it, but for one that manages keys: it may have ended itself', async () => {
  const desk = {
    async revoke() {
      house.services.checkKeys();
      await sleep(50);
      throw new Failure('not_found');
    },
  } as unknown as KeyManagement;
  const house = await openTestServices({ isInForce: async () => false, desk });
  const speech = createClient(SpeechService, house.services.transport);
  const listen = async () => {
    const options = { headers: { 'x-api-key': 'good' } };
    const spoken = speech.streamSpeech({ voiceId: 'ada', textChunks: ['pieces=20 wait=5'] }, options);
    for await (const _ of spoken) house.services.checkKeys();
  };
  await expect(listen()).rejects.toMatchObject({ cause: { reason: 'invalid_api_key' } });
  const keys = createClient(ApiKeyService, house.services.transport);
  const ended = keys.revokeApiKey({ keyId: 'good-caller-key' }, { headers: { 'x-api-key': 'good' } });
  await expect(ended).rejects.toMatchObject({ cause: { reason: 'not_found' } });
});
