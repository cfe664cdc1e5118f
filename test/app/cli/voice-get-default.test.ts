// Tests `sonant voice get`, as a program: the best voice becomes the default of a running service, retries are
// reported, and models are downloaded over HTTPS through a proxy.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { tinyVoiceFiles } from '../../engines/tiny-supertonic.ts';
import { openConnectProxy } from '../../library/models/connect-proxy.ts';
import { type Mirror, openMirror, sha256Of } from '../../library/models/model-mirror.ts';
import { bzip2, tarOf } from '../../platform/archives/archive-writer.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { runMain } from './run-main.ts';
import { serve } from './serving-program.ts';
import { runSonant } from './sonant-program.ts';

let place: string;
let mirror: Mirror;
beforeEach(async (context) => {
  context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found');
  place = await mkdtemp(join(tmpdir(), 'sonant-get-'));
  mirror = await openMirror({ 'tts-models/vits-amy.tar.bz2': archive });
});
afterEach(async () => {
  await mirror[Symbol.asyncDispose]();
  await rm(place, { recursive: true });
});

const files = { ...tinyVoiceFiles(), MODEL_CARD: 'License: CC0' };
const archive = bzip2(tarOf('vits-amy', files));
const pinOf = (bytes: Uint8Array) => ({ bytes: bytes.length, sha256: sha256Of(bytes) });
const elsewhere = 'https://models.invalid/releases/download';
const row = { name: 'amy', url: `${elsewhere}/tts-models/vits-amy.tar.bz2`, ...pinOf(archive) };

test('the best voice of a model becomes the default one, of a service that runs meanwhile too', async () => {
  const choir = bzip2(tarOf('choir', { ...files, ...tinyVoiceFiles({ speakers: 3 }) }));
  mirror.files.set('tts-models/choir.tar.bz2', choir);
  const url = `${elsewhere}/tts-models/choir.tar.bz2`;
  const table = [row, { ...row, name: 'choir', url, ...pinOf(choir), voices: 3, best_voice: '2' }];
  const modelsFile = join(place, 'models.json');
  await writeFile(modelsFile, JSON.stringify({ models: table }));
  const env = { SONANT_MODELS: modelsFile, SONANT_MODELS_URL: mirror.url, NO_PROXY: '127.0.0.1' };
  const service = await serve([], env);
  const spoken = async () => {
    const answer = await fetch(`${service.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { 'X-API-Key': service.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: 'Hello there.', voice: 'alloy' }),
    });
    await answer.arrayBuffer();
    return answer.headers.get('X-Voice-Id');
  };
  expect(await spoken()).toBe('arthur');
  const got = await runMain(service.folder, ['voice', 'get', 'choir', '--default'], '', env);
  expect(got).toMatchObject({ code: 0, out: expect.stringMatching(/\nchoir-2 is the default voice \(chosen\)\.\n$/) });
  await expect.poll(spoken, { timeout: 30_000, interval: 100 }).toBe('choir-2');
  const other = await runMain(service.folder, ['voice', 'get', 'amy', '--default', '--json'], '', env);
  expect(JSON.parse(other.out)).toMatchObject({ is_new: true, voice_ids: ['amy'], chosen_voice_id: 'amy' });
  const again = await runMain(service.folder, ['voice', 'get', 'choir', '--default'], '', env);
  expect(again.out).toMatch(/choir is already installed.*\nchoir-2 is the default voice/);
  await runMain(service.folder, ['voice', 'remove', 'choir'], '', env);
  await expect.poll(spoken, { timeout: 30_000, interval: 100 }).toBe('arthur');
});

test('the program tells each time that it tries the source again', async () => {
  mirror.fault = (request, response) => request.count === 1 && !!response.writeHead(503).end();
  const modelsFile = join(place, 'models.json');
  await writeFile(modelsFile, JSON.stringify({ models: [row] }));
  const env = { SONANT_MODELS: modelsFile, SONANT_MODELS_URL: mirror.url, NO_PROXY: '127.0.0.1' };
  const { code, err } = await runMain(place, ['voice', 'get', 'amy'], '', env);
  const { host } = new URL(mirror.url);
  const told = `sonant: cannot download from ${host}: it returned status 503; trying again in 0.5 s (attempt 2 of 7)\n`;
  expect([code, err]).toEqual([0, told]);
});

test('the program fetches over HTTPS through the proxy and with the certificates that the environment names', async () => {
  await using proxy = await openConnectProxy(mirror.url);
  const modelsFile = join(place, 'models.json');
  await writeFile(modelsFile, JSON.stringify({ models: [row] }));
  const env = {
    SONANT_MODELS: modelsFile,
    SONANT_MODELS_URL: 'https://localhost:9',
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
  };
  const refused = await runSonant(place, ['voice', 'get', 'amy', '--json'], '', env);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('self-signed certificate') });
  const certificates = join(place, 'ca.pem');
  await writeFile(certificates, testCertificate.cert);
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: certificates };
  const got = await runSonant(place, ['voice', 'get', 'amy', '--json'], '', trusting);
  expect(got).toMatchObject({ code: 0, err: '', out: expect.stringContaining('"voice_ids":["amy"]') });
  expect(new Set(proxy.asked)).toEqual(new Set(['localhost:9']));
}, 60_000);
