// Tests that permitted callers can install models over REST, from the table to a voice that speaks. Each refusal and
// failure has a message; whenever an installation is stopped, nothing is half-installed and the next attempt continues.
import { chmod, mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import grpc from '@grpc/grpc-js';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  InstallState,
  ListVoiceModelsResponseSchema,
  ModelService,
  VoiceModelSchema,
} from '../../../gen/sonant/v1/model_pb.ts';
import { writeMessage } from '../../../src/contract/encode.ts';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { installsWaitingMax } from '../../../src/library/models/model-installs.ts';
import { takeLock } from '../../../src/platform/runtime/locks.ts';
import { explain, failureOf, openGrpcClient } from '../rpc/grpc-client.ts';
import { archives, type Installing, type InstallingOptions, openInstalling, table } from './open-installing.ts';

const patience = { timeout: 60_000, interval: 150 };
const slow = { bytes: 10_000, ms: 50 };
const ended = ['done', 'failed', 'cancelled'];

describe.skipIf(!findLibrary(''))('models over REST', { timeout: 120_000 }, () => {
  let service: Installing;
  const open = async (options?: InstallingOptions) => {
    service = await openInstalling(onTestFinished, options);
  };
  const send = (...args: Parameters<Installing['send']>) => service.send(...args);
  const get = async (name: string) => (await send('GET', `/api/models/${name}`)).body;
  const install = (name: string, body?: object, key?: string) => send('POST', `/api/models/${name}`, body, key);
  const untilEnded = async (name: string) => {
    await expect.poll(async () => ended.includes((await get(name)).install?.state), patience).toBe(true);
    return get(name);
  };
  const untilFetched = (name: string, bytes = 1) =>
    expect.poll(async () => (await get(name)).install.bytes_done, patience).toBeGreaterThanOrEqual(bytes);
  /** Installs amy, whose first bytes are here. */
  const expectContinued = async (kept: number) => {
    service.mirror.pace = undefined;
    await install('amy');
    expect(await untilEnded('amy')).toMatchObject({ installed: true, voice_ids: ['amy'] });
    expect(service.mirror.requests.at(-1)).toMatchObject({ range: `bytes=${kept}-` });
  };
  const there = async () =>
    (await readdir(service.models).catch(() => [])).filter((name) => !['.locks', '.downloads'].includes(name));
  beforeEach(async ({ task }) => {
    if (!task.name.includes('of its own')) await open();
  });

  test('one is listed, installed, speaks, and is removed, in a fresh folder of its own', async () => {
    await open({ isFresh: true });
    const { body } = await send('GET', '/api/models');
    expect(body).toMatchObject({ suggested: 'amy', can_install: true });
    expect(body.models.slice(0, 3).map(({ name }: { name: string }) => name)).toEqual(['amy', 'ben', 'cal']);
    expect(body.models.length).toBe(6);
    expect(body.models[0]).toMatchObject({
      ...{ title: 'Amy, a tiny voice', engine: 'sherpa-onnx', languages: ['en'], voices: 1 },
      ...{ bytes: archives.amy.length, licence: 'CC0-1.0', licence_source: 'https://example.com/amy' },
      ...{
        commercial: true,
        checked_by: 'archive',
        recommended: true,
        best_voice_id: 'amy',
        installed: false,
        install: null,
      },
      library: { name: expect.stringMatching(/^sherpa-onnx-node@/), licence: expect.stringContaining('GPL-3.0') },
    });
    const begun = await install('amy');
    expect(begun).toMatchObject({ status: 202, body: { name: 'amy', installed: false } });
    expect(begun.headers.get('location')).toMatch(/\/api\/models\/amy$/);
    expect(await untilEnded('amy')).toMatchObject({
      ...{ installed: true, voice_ids: ['amy'], fetched_bytes: 0 },
      install: { state: 'done', bytes_done: archives.amy.length, bytes_total: archives.amy.length, failure: null },
    });
    expect((await send('GET', '/api/voices/amy')).body).toMatchObject({ status: 'ready', engine: 'sherpa-onnx' });
    expect((await send('GET', '/api/voices/amy/preview')).status).toBe(200);
    expect((await send('GET', '/api/models')).body.suggested).toBe(null);
    expect((await install('amy')).status).toBe(200);
    expect(await there()).toEqual(['amy']);

    expect((await send('DELETE', '/api/models/amy')).status).toBe(204);
    expect(await get('amy')).toMatchObject({ installed: false, voice_ids: [], install: null });
    expect((await send('GET', '/api/voices/amy')).status).toBe(404);
    expect((await send('DELETE', '/api/models/amy')).body).toMatchObject({ error: 'not_found' });
    expect(service.logged.join()).toMatch(/model installation requested.*key:key_/);
  });

  test('ModelService has the same operations', async () => {
    const client = openGrpcClient(ModelService, service.target);
    onTestFinished(() => client.close());
    const call = { metadata: { 'x-api-key': service.key } };
    const list = await client.unary('listVoiceModels', {}, call);
    expect(writeMessage(ListVoiceModelsResponseSchema, list)).toEqual((await send('GET', '/api/models')).body);
    const refused = await failureOf(client.unary('installVoiceModel', { name: 'cal' }, call));
    expect(explain(refused).violations).toMatchObject([{ field: 'accept_licence', reason: 'REQUIRED' }]);
    const unknown = await failureOf(client.unary('getVoiceModel', { name: 'nobody' }, call));
    expect(unknown).toMatchObject({ code: grpc.status.NOT_FOUND });

    service.mirror.pace = slow;
    const begun = await client.unary('installVoiceModel', { name: 'amy' }, call);
    expect(begun.model).toMatchObject({ name: 'amy', installed: false });
    const watched = await Array.fromAsync(client.stream('watchVoiceModel', { name: 'amy' }, call));
    expect(watched.length).toBeGreaterThan(1);
    expect(watched.at(-1)!.model).toMatchObject({ installed: true, install: { state: InstallState.DONE } });
    const { model } = await client.unary('getVoiceModel', { name: 'amy' }, call);
    expect(writeMessage(VoiceModelSchema, model!)).toEqual(await get('amy'));
    await client.unary('removeVoiceModel', { name: 'amy' }, call);
    expect(await get('amy')).toMatchObject({ installed: false, install: null });
  });

  test('while a slow mirror sends it, its progress is told by events, also to who did not ask for it', async () => {
    service.mirror.pace = slow;
    await install('amy');
    const reader = await service.makeKey(['voices:read']);
    const { bytes, headers } = await send('GET', '/api/models/amy/events', undefined, reader);
    expect(headers.get('content-type')).toBe('text/event-stream');
    const events = bytes.toString().trim().split('\n\n');
    const told = events.map((event) => JSON.parse(/^event: model\ndata: (.*)$/.exec(event)![1]!).install);
    expect(told.at(-1)).toMatchObject({ state: 'done', bytes_done: archives.amy.length });
    const loading = told.filter(({ state }) => state === 'downloading');
    expect(loading.some((each) => each.bytes_per_second > 0 && each.seconds_left >= 0)).toBe(true);
    const done = loading.map((each) => each.bytes_done);
    expect(done).toEqual([...done].sort((one, other) => one - other));
  });

  test('two callers at once begin one installation, and a second model waits for the first', async () => {
    service.mirror.pace = slow;
    const both = await Promise.all([install('amy'), install('amy')]);
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    expect((await install('ben')).body.install).toMatchObject({ state: 'queued' });
    await untilEnded('ben');
    expect(service.mirror.requests.map(({ path }) => path)).toEqual(['tts-models/amy.tar.gz', 'tts-models/ben.tar.gz']);
    expect((await get('ben')).voice_ids).toEqual(['ben-0', 'ben-1', 'ben-2']);
  });

  test('one that is cancelled leaves what was fetched, and the next attempt goes on there', async () => {
    service.mirror.pace = slow;
    await install('amy');
    await install('ben');
    await untilFetched('amy');
    expect((await send('DELETE', '/api/models/ben')).status).toBe(204);
    expect((await get('ben')).install.state).toBe('cancelled');
    expect((await send('DELETE', '/api/models/amy')).status).toBe(204);
    const { install: status, fetched_bytes: kept, installed } = await get('amy');
    expect({ state: status.state, installed }).toEqual({ state: 'cancelled', installed: false });
    expect(kept).toBeGreaterThan(0);
    expect(await there()).toEqual([]);
    await expectContinued(kept);
  });

  test('what a cancelled one has fetched is discarded when it is removed', async () => {
    service.mirror.pace = slow;
    await install('amy');
    await untilFetched('amy');
    await send('DELETE', '/api/models/amy');
    expect((await send('DELETE', '/api/models/amy')).status).toBe(204);
    expect(await get('amy')).toMatchObject({ fetched_bytes: 0, install: null });
  });

  test('a service that stops in the middle leaves nothing half-installed; asked again, it goes on', async () => {
    service.mirror.pace = slow;
    await install('amy');
    await install('ben');
    await untilFetched('amy');
    await service.restart();
    expect(await there()).toEqual([]);
    const { fetched_bytes: kept, install: status } = await get('amy');
    expect(status).toBe(null);
    expect(kept).toBeGreaterThan(0);
    await expectContinued(kept);
  });

  test('a licence that forbids commercial use must be accepted', async () => {
    for (const body of [undefined, {}, { accept_licence: false }]) {
      const refused = await install('cal', body);
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      expect(refused.body.details[0]).toMatchObject({ field: 'accept_licence', reason: 'required' });
      expect(refused.body.details[0].message).toMatch(/CC-BY-NC-4.0/);
    }
    expect((await install('cal', { accept_licence: 'yes' })).body.details[0]).toMatchObject({ reason: 'type' });
    expect(service.mirror.requests).toEqual([]);
    expect((await install('cal', { accept_licence: true })).status).toBe(202);
    expect(await untilEnded('cal')).toMatchObject({ installed: true });
  });

  test('only names of the table are installed, and only by keys with admin', async () => {
    for (const name of ['nobody', 'https:%2F%2Fexample.com%2Fa.tar.gz', '..%2F..%2Fetc', '.locks', '127.0.0.1'])
      for (const method of ['GET', 'POST', 'DELETE'])
        expect((await send(method, `/api/models/${name}`)).status, `${method} ${name}`).toBe(404);
    const body = { url: 'http://127.0.0.1:1/x.tar.gz', name: '../x' };
    const ignored = await install('amy', body);
    expect(ignored.headers.get('x-ignored-fields')).toBe('url, name');
    await untilEnded('amy');
    expect(service.mirror.requests.map(({ path }) => path)).toEqual(['tts-models/amy.tar.gz']);

    const others = await service.makeKey(['voices:read', 'voices:write', 'keys:write', 'speech:stream']);
    expect((await send('GET', '/api/models', undefined, others)).status).toBe(200);
    for (const method of ['POST', 'DELETE'])
      expect((await send(method, '/api/models/amy', undefined, others)).body).toMatchObject({
        ...{ error: 'insufficient_scope', required_scopes: ['admin'] },
      });
    const limited = await service.makeKey(['admin', 'voices:read'], { voiceIds: ['clara'] });
    for (const method of ['POST', 'DELETE'])
      expect((await send(method, '/api/models/amy', undefined, limited)).body.error).toBe('access_denied');
    expect((await send('GET', '/api/models/amy', undefined, limited)).body).toMatchObject({ voice_ids: [] });
  });

  test('so many may wait, and no more, in a table of its own', async () => {
    const rows = Array.from({ length: installsWaitingMax + 2 }, (_, n) => ({ ...table[0], name: `amy-${n}` }));
    await open({ rows });
    service.mirror.pace = { bytes: 100, ms: 1_000 };
    for (const { name } of rows.slice(0, -1)) expect((await install(name)).status).toBe(202);
    const refused = await install(rows.at(-1)!.name);
    expect(refused).toMatchObject({ status: 503, body: { error: 'overloaded' } });
    expect((await install(rows[0]!.name)).status).toBe(202);
    await send('DELETE', `/api/models/${rows[3]!.name}`);
    expect((await install(rows.at(-1)!.name)).status).toBe(202);
  });

  test.each<[what: string, change: object, error: string, message: RegExp]>([
    ['another hash', { sha256: '0'.repeat(64) }, 'invalid_request', /it must have .*0000/],
    ['a source without it', { url: 'https://models.invalid/a/tts-models/no.tar.gz' }, 'invalid_request', /\(404\)/],
    ['other weights', { files: { 'model.onnx': '1'.repeat(64) } }, 'invalid_request', /model.onnx must have/],
    ['a size beyond the disk', { bytes: 9e15 }, 'storage_full', /MB on the disk/],
  ])('%s fails in words, without a path, in a table of its own', async (_, change, error, message) => {
    await open({ rows: [{ ...table[0], ...change }] });
    await install('amy');
    const { install: status, installed } = await untilEnded('amy');
    expect({ ...status.failure, installed }).toEqual({
      error,
      message: expect.stringMatching(message),
      installed: false,
    });
    expect(status.failure.message).not.toContain(service.folder);
    expect(await there()).toEqual([]);
    expect(service.logged.join()).toMatch(/model not installed/);
  });

  test('a service that may not fetch says so, in settings of its own', async () => {
    await open({ settings: { SONANT_MODELS_OFFLINE: '1' } });
    expect((await send('GET', '/api/models')).body).toMatchObject({ suggested: null, can_install: false });
    expect((await install('amy')).body).toMatchObject({
      ...{ error: 'access_denied', message: expect.stringContaining('SONANT_MODELS_OFFLINE') },
    });
  });

  test.skipIf(process.getuid?.() === 0)('a folder that cannot be written to is told in words', async () => {
    await chmod(service.models, 0o555);
    onTestFinished(() => chmod(service.models, 0o755));
    await install('amy');
    expect((await untilEnded('amy')).install.failure).toMatchObject({
      ...{
        error: 'storage_unavailable',
        message: expect.stringContaining('cannot write to its folder of models'),
      },
    });
  });

  test('what another process gets is told as far as the folder tells it, and is not removed', async () => {
    await mkdir(join(service.models, '.locks'));
    await mkdir(join(service.models, '.downloads/amy'), { recursive: true });
    const { signal } = new AbortController();
    const lock = await takeLock(join(service.models, '.locks/amy'), signal, () => {});
    onTestFinished(() => lock.release());
    expect((await get('amy')).install).toMatchObject({ state: 'elsewhere', bytes_done: 0, bytes_per_second: null });
    expect((await send('DELETE', '/api/models/amy')).body).toMatchObject({ error: 'overloaded' });
    await install('amy');
    await expect.poll(async () => (await get('amy')).install.state, patience).toBe('waiting');
    lock.release();
    expect(await untilEnded('amy')).toMatchObject({ installed: true });
  });

  test('a model that is in no table is listed as such, and can be removed', async () => {
    await install('amy');
    await untilEnded('amy');
    await rename(join(service.models, 'amy'), join(service.models, 'own'));
    const { body } = await send('GET', '/api/models');
    expect(body.models.at(-1)).toMatchObject({ name: 'own', licence: null, bytes: null, installed: true });
    expect(body.models[0]).toMatchObject({ installed: false, install: null });
    expect((await send('DELETE', '/api/models/own')).status).toBe(204);
    expect((await send('GET', '/api/models/own')).status).toBe(404);
  });
});
