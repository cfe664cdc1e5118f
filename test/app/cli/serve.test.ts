// Tests `sonant serve` as an operator starts it: free ports for all listeners, links to audio, and graceful shutdown.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect, onTestFinished, test } from 'vitest';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { newFolder } from '../../new-folder.ts';
import { serve } from './serving-program.ts';
import { main, runSonant } from './sonant-program.ts';

test('speaks, stores, plays from the link, deletes, and ends on a signal', async () => {
  const { child, ended, url, key, said } = await serve([], { SONANT_LEAVE_SECONDS: '1' });
  // Standard output is not a terminal here, and may be collected.
  expect(said).not.toContain(key);
  expect(said).toMatch(/"X-API-Key: \$\(cat \S+\/data\/first-key\)"/);
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ voice_id: 'arthur', text: 'Hello there.' });
  const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
  const { audio_url } = (await answer.json()) as { audio_url: string };
  const path = new URL(audio_url).pathname;
  const sound = await fetch(url + path);
  expect([sound.status, sound.headers.get('content-type')]).toEqual([200, 'audio/wav']);
  expect((await sound.arrayBuffer()).byteLength).toBeGreaterThan(50_000);
  const gone = await fetch(`${url}/api${path.replace(/\.wav$/, '')}`, { method: 'DELETE', headers });
  expect(gone.status).toBe(204);
  expect((await fetch(url + path)).status).toBe(410);
  const farewell = once(child.stdout!, 'data');
  child.kill('SIGTERM');
  expect(String(await farewell)).toMatch(
    /^Stopping: requests are accepted for 1 s more, then running requests have 20 s to finish\./,
  );
  expect((await fetch(`${url}/api/voices`, { headers })).status).toBe(200);
  expect(await ended).toBe(0);
});

test('prints the first key to a terminal, or with --print-key, and stores it in a file of the operator', async () => {
  const folder = newFolder();
  const file = join(folder, 'secrets/key');
  const asked = await serve(['--print-key'], { SONANT_FIRST_KEY_FILE: file });
  const key = readFileSync(file, 'utf8').trim();
  expect(asked.said).toContain(`-H 'X-API-Key: ${key}'`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const command = `exec ${process.execPath} ${main} serve`;
  const { PATH } = process.env;
  const addresses = { SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' };
  const env = { PATH, SONANT_FETCH_VOICE: 'off', ...addresses };
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env });
  onTestFinished(() => void terminal.kill());
  let shown = '';
  terminal.stdout.on('data', (bytes) => (shown += bytes));
  await expect.poll(() => shown).toContain('hello.wav');
  expect(shown).toContain(readFileSync(join(folder, 'data/first-key'), 'utf8').trim());
});

test('serves gRPC and REST on one port', async () => {
  const { url, key, said, ports } = await serve(['--single-port']);
  expect(said).toMatch(/^Sonant serves HTTP and gRPC on 127\.0\.0\.1:\d+\.\n/);
  expect(said).toContain(`curl -sSf ${url}/`);
  expect(new Set(ports).size).toBe(1);
  const voices = createClient(VoiceService, createGrpcTransport({ baseUrl: url }));
  const { voices: listed } = await voices.listVoices({}, { headers: { 'x-api-key': key } });
  const answer = await fetch(`${url}/api/voices`, { headers: { 'X-API-Key': key } });
  expect(((await answer.json()) as { voices: unknown[] }).voices).toHaveLength(listed.length);
});

test('64 clients that each ask for a sentence at once are all served', async () => {
  // Waits as long as a busy machine needs.
  const { url, folder } = await serve([], { SONANT_WAITING_SECONDS: '60' });
  const limits = ['--concurrency', '100', '--requests-per-minute', '6000'];
  const { out } = await runSonant(folder, ['key', 'create', '--name', 'x', '--json', ...limits]);
  const headers = { 'X-API-Key': JSON.parse(out).key, 'Content-Type': 'application/json' };
  const ask = async (_: unknown, n: number) => {
    const sentence = { voice_id: 'arthur', text: `I am client ${n}.`, return_format: 'buffer' };
    const asked = { method: 'POST', headers, body: JSON.stringify(sentence) };
    const answer = await fetch(`${url}/api/audio/speech`, asked);
    return [answer.status, (await answer.arrayBuffer()).byteLength > 20_000];
  };
  expect(await Promise.all(Array.from({ length: 64 }, ask))).toEqual(Array(64).fill([200, true]));
});

/**
 * Like `synthesize()` of LiveKit's plugin for Cartesia (@livekit/agents-plugin-cartesia 1.8.1), which uses TLS for
 * every `baseUrl`.
 */
const liveKitProgram = `
const { request } = require('node:https');
const baseUrl = new URL(process.env.BASE_URL);
const output_format = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24000 };
const body = { model_id: 'sonic-3', transcript: 'Hello there.', language: 'en', voice: { mode: 'id', id: 'clara' }, output_format };
const sent = request(
  {
    hostname: baseUrl.hostname,
    port: parseInt(baseUrl.port) || (baseUrl.protocol === 'https:' ? 443 : 80),
    path: '/tts/bytes',
    method: 'POST',
    headers: { 'X-API-Key': process.env.KEY, 'Cartesia-Version': '2025-04-16' },
  },
  (answer) => {
    let bytes = 0;
    answer.on('data', (chunk) => (bytes += chunk.length));
    answer.on('close', () => console.log(answer.statusCode, answer.headers['content-type'], bytes));
  },
);
sent.on('error', ({ code }) => console.log(code));
sent.write(JSON.stringify(body));
sent.end();
`;

test('speaks to LiveKit’s plugin for Cartesia over TLS, if that trusts the certificate', async () => {
  const folder = newFolder();
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  // The same options as in docs/compatibility.md.
  const extensions = ['subjectAltName=DNS:localhost,IP:127.0.0.1', 'basicConstraints=critical,CA:FALSE'];
  extensions.push('extendedKeyUsage=serverAuth');
  const subject = ['-subj', '/CN=localhost', ...extensions.flatMap((extension) => ['-addext', extension])];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc', '-days', '825'];
  await promisify(execFile)('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert]);
  const service = await serve([], { SONANT_TLS_CERT: cert, SONANT_TLS_KEY: key });
  const run = async (more: Record<string, string>) => {
    const env = {
      PATH: process.env.PATH,
      BASE_URL: `https://localhost:${service.ports[0]}`,
      KEY: service.key,
      ...more,
    };
    return (await promisify(execFile)(process.execPath, ['-e', liveKitProgram], { env })).stdout.trim();
  };
  expect(await run({ NODE_EXTRA_CA_CERTS: cert })).toMatch(/^200 audio\/pcm [1-9]\d{4,}$/);
  expect(await run({})).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
});
