// Tests the formats that other vendors' clients request by names that Sonant's own API lacks: float, mu-law and A-law in
// WAV, 32 kHz, and bit rates of MP3.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { decodeRecording } from '../../../src/audio/recording/recording.ts';
import { readWavHeader } from '../../../src/audio/wav-reader.ts';
import { mp3Frames } from '../../audio/mp3-frames.ts';
import { newFolder } from '../../new-folder.ts';
import { findProgram, isInstalled } from '../../programs.ts';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';

const { url, key, tone, requests, send } = await openTestGateway({ trouble: {} }, afterAll);
const text = 'One and the same.';
const patient = { timeout: 20_000 };

async function post(path: string, body: object): Promise<[Buffer, Headers]> {
  const answer = await send(path, { body, headers: { 'xi-api-key': key } });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return [await bytesOf(answer), answer.headers];
}

const cartesia = (output_format: object) =>
  post('/tts/bytes', { transcript: text, voice: { mode: 'id', id: 'tone-low' }, output_format });
const elevenLabs = (format: string) => post(`/v1/text-to-speech/tone-low?output_format=${format}`, { text });
const openAi = (response_format?: string) =>
  post('/v1/audio/speech', { model: 'tts-1', voice: 'tone-low', input: text, response_format });

test.each([
  ['pcm_s16le', 1, 2],
  ['pcm_f32le', 3, 4],
  ['pcm_mulaw', 7, 1],
  ['pcm_alaw', 6, 1],
])('Cartesia: WAV in %s has the samples of raw audio in it', async (encoding, tag, bytesPerSample) => {
  const [raw] = await cartesia({ container: 'raw', encoding, sample_rate: 44_100 });
  const [wav, headers] = await cartesia({ container: 'wav', encoding, sample_rate: 44_100 });
  const { format, data } = readWavHeader(wav);
  expect([headers.get('content-type'), format]).toMatchObject(['audio/wav', { tag, channels: 1, bytesPerSample }]);
  expect(format!.sampleRateHz).toBe(44_100);
  expect(wav.subarray(data!.start).equals(raw)).toBe(true);
});

test('Cartesia: floats are the samples before they are rounded to 16 bits', async () => {
  const [floats] = await cartesia({ container: 'raw', encoding: 'pcm_f32le', sample_rate: 24_000 });
  const [integers] = await cartesia({ container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 });
  expect(floats.length).toBe(integers.length * 2);
  const steps = Array.from({ length: integers.length / 2 }, (_, i) => [
    floats.readFloatLE(i * 4) * 32_768,
    integers.readInt16LE(i * 2),
  ]);
  expect(steps.filter(([float, integer]) => Math.abs(float! - integer!) > 1)).toEqual([]);
  expect(steps.some(([float]) => !Number.isInteger(float))).toBe(true);
});

const kbpsOf = (file: Buffer) => new Set(mp3Frames(file).map(({ kbps }) => kbps));

test.each([
  ['ElevenLabs', 'mp3_22050_32', () => elevenLabs('mp3_22050_32'), 32, 22_050],
  ['ElevenLabs', 'mp3_24000_48', () => elevenLabs('mp3_24000_48'), 48, 24_000],
  ['ElevenLabs', 'mp3_44100_64', () => elevenLabs('mp3_44100_64'), 64, 44_100],
  ['ElevenLabs', 'mp3_44100_96', () => elevenLabs('mp3_44100_96'), 96, 44_100],
  ['ElevenLabs', 'mp3_44100_128', () => elevenLabs('mp3_44100_128'), 128, 44_100],
  ['ElevenLabs', 'mp3_44100_192', () => elevenLabs('mp3_44100_192'), 192, 44_100],
  [
    'Cartesia',
    'bit_rate 192000',
    () => cartesia({ container: 'mp3', sample_rate: 44_100, bit_rate: 192_000 }),
    192,
    44_100,
  ],
  ['Cartesia', 'no bit rate', () => cartesia({ container: 'mp3', sample_rate: 44_100 }), 128, 44_100],
  ['OpenAI', 'mp3', () => openAi('mp3'), 128, 24_000],
  ['OpenAI', 'no format', () => openAi(), 128, 24_000],
] as const)('%s: MP3 for %s has the bit rate that was asked for', async (_api, _asked, speak, kbps, rate) => {
  const [file, headers] = await speak();
  expect(headers.get('content-type')).toBe('audio/mpeg');
  expect(kbpsOf(file)).toEqual(new Set([kbps]));
  const [pcm] = await elevenLabs(`pcm_${rate}`);
  const { samples, sampleRateHz } = await decodeRecording(file, { secondsMax: 10 });
  expect(sampleRateHz).toBe(rate);
  expect(Math.abs(samples.length - pcm.length / 2) / rate).toBeLessThan(0.12);
});

test('OpenAI: X-Format of MP3 is mp3', async () => {
  const [, headers] = await openAi('mp3');
  expect(headers.get('x-format')).toBe('mp3');
});

test.skipIf(!isInstalled('ffmpeg'))(
  'OpenAI: AAC is ADTS, whole and in events, with the length of the speech',
  async () => {
    const [aac, headers] = await openAi('aac');
    expect([headers.get('content-type'), headers.get('x-format')]).toEqual(['audio/aac', 'aac']);
    expect(aac.readUInt16BE(0) & 0xfff6, 'ADTS').toBe(0xfff0);
    const decoded = spawnSync('ffmpeg', ['-v', 'error', '-f', 'aac', '-i', '-', '-f', 's16le', '-'], { input: aac });
    const [pcm] = await openAi('pcm');
    expect(decoded.stderr.toString()).toBe('');
    expect(Math.abs(decoded.stdout.length - pcm.length) / 48_000).toBeLessThan(0.15);
    const body = { model: 'tts-1', voice: 'tone-low', input: text, response_format: 'aac', stream_format: 'sse' };
    const [events] = await post('/v1/audio/speech', body);
    const pieces = [...events.toString().matchAll(/"audio":"([^"]+)"/g)].map(([, base64]) =>
      Buffer.from(base64!, 'base64'),
    );
    expect(Buffer.concat(pieces).equals(aac)).toBe(true);
  },
);

/** The programs that this process runs. */
const childrenOf = (pid: number) =>
  spawnSync('ps', ['--ppid', String(pid), '-o', 'comm='], { encoding: 'utf8' }).stdout.split('\n');

test.skipIf(!isInstalled('ffmpeg'))('OpenAI: the encoder of AAC ends with its request, however that ends', async () => {
  const noEncoder = () => expect.poll(() => childrenOf(process.pid), patient).not.toContain('ffmpeg');
  const long = 'This sentence is one of many that follow. '.repeat(100);
  const ask = (input: string, voice = 'tone-low', init: { signal?: AbortSignal } = {}) =>
    send('/v1/audio/speech', { body: { model: 'tts-1', voice, input, response_format: 'aac' }, ...init });
  expect((await ask('Hello.', 'nobody')).status).toBe(404);
  await noEncoder();
  const left = new AbortController();
  const begun = await ask(long, 'tone-low', { signal: left.signal });
  expect((await begun.body!.getReader().read()).value!.length).toBeGreaterThan(0);
  left.abort();
  await noEncoder();
  tone.trouble.failsAfterSegments = tone.counts.begun + 3;
  const broken = await ask(`Now it fails. ${long}`);
  expect(broken.status).toBe(200);
  await expect(broken.arrayBuffer()).rejects.toThrow();
  delete tone.trouble.failsAfterSegments;
  await noEncoder();
});

/** Puts a program before ffmpeg that counts how often it is started. Returns the number of starts so far. */
function countEncoders(): () => number {
  const folder = newFolder();
  const starts = join(folder, 'starts');
  writeFileSync(starts, '');
  const script = `#!/bin/sh\necho >> '${starts}'\nexec '${join(findProgram('ffmpeg')!, 'ffmpeg')}' "$@"\n`;
  writeFileSync(join(folder, 'ffmpeg'), script, { mode: 0o755 });
  const { PATH } = process.env;
  process.env.PATH = [folder, PATH].join(delimiter);
  onTestFinished(() => {
    process.env.PATH = PATH;
  });
  return () => readFileSync(starts, 'utf8').length;
}

test.skipIf(!isInstalled('ffmpeg'))('OpenAI: no encoder of AAC outlives the reset of its connection', async () => {
  const ended = requests.length;
  const input = 'Hello there.';
  const body = JSON.stringify({ model: 'x', input, voice: 'alloy', response_format: 'aac' });
  const head = `POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n`;
  const { port } = new URL(url);
  const resets = Array.from({ length: 30 }, async (_, i) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    await sleep((i * 40) / 30);
    socket.resetAndDestroy();
  });
  await Promise.all(resets);
  // The last request of all is answered in full, and has an encoder too.
  expect((await openAi('aac'))[0].length).toBeGreaterThan(0);
  await expect.poll(() => requests.length, patient).toBeGreaterThan(ended);
  await expect.poll(() => childrenOf(process.pid), patient).not.toContain('ffmpeg');
});

test.skipIf(!isInstalled('ffmpeg'))('OpenAI: a request that is refused starts no encoder of AAC', async () => {
  const limited = await openTestGateway({ isLimited: true, trouble: {} });
  const { key: ownKey } = await limited.keyVerifier.create({
    limits: { concurrency: 1 },
    scopes: ['speech:synthesize', 'speech:stream', 'voices:read'],
  });
  const starts = countEncoders();
  const ask = (input: string, voice = 'tone-low') =>
    limited.send('/v1/audio/speech', {
      headers: { 'X-API-Key': ownKey },
      body: { model: 'x', voice, input, response_format: 'aac' },
    });
  expect((await ask('Hello.', 'nobody')).status).toBe(404);
  limited.tone.trouble.failsAfterPieces = 0;
  expect((await ask('This fails.')).status).toBeGreaterThanOrEqual(500);
  delete limited.tone.trouble.failsAfterPieces;
  expect(starts()).toBe(0);
  limited.tone.trouble.hangsAfterPieces = 20;
  const speaking = await ask('This sentence is one of many that follow. '.repeat(100));
  expect(speaking.status).toBe(200);
  const others = await Promise.all(Array.from({ length: 20 }, () => ask('One too many.')));
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set([429]));
  expect(starts()).toBe(1);
  await speaking.body!.cancel();
  await expect.poll(() => childrenOf(process.pid), patient).not.toContain('ffmpeg');
});

test('OpenAI: without ffmpeg, AAC is refused with 501 and a sentence that says why, and nothing is spoken', async () => {
  const { PATH } = process.env;
  onTestFinished(() => {
    process.env.PATH = PATH;
  });
  process.env.PATH = '/nonexistent';
  const spoken = tone.segments.length;
  const body = { model: 'tts-1', voice: 'tone-low', input: 'Not in AAC.', response_format: 'aac' };
  const answer = await send('/v1/audio/speech', { body });
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  expect([answer.status, error.code, answer.headers.get('retry-after')]).toEqual([501, 'not_supported', null]);
  expect(error.message).toMatch(/^AAC needs the program ffmpeg, which is not installed here\./);
  expect(tone.segments.length).toBe(spoken);
});

test('ElevenLabs: audio at 32 kHz, raw and in WAV', async () => {
  const [pcm] = await elevenLabs('pcm_32000');
  const [twice] = await elevenLabs('pcm_16000');
  expect(pcm.length / twice.length).toBeCloseTo(2, 2);
  const [wav] = await elevenLabs('wav_32000');
  const { format, data } = readWavHeader(wav);
  expect(format!.sampleRateHz).toBe(32_000);
  expect(wav.subarray(data!.start).equals(pcm)).toBe(true);
});

test.each([
  ['/tts/bytes', { transcript: text, voice: 'tone-low', output_format: { container: 'wav', encoding: 'pcm_u8' } }],
  ['/tts/bytes', { transcript: text, voice: 'tone-low', output_format: { container: 'mp3', bit_rate: 5 } }],
  ['/tts/bytes', { transcript: text, voice: 'tone-low', output_format: { container: 'toString' } }],
  ['/v1/text-to-speech/tone-low?output_format=mp3_44100_129', { text }],
  ['/v1/text-to-speech/tone-low?output_format=f32le_24000', { text }],
])('%s with %j is refused by its field', async (path, body) => {
  const answer = await send(path, { body, headers: { 'xi-api-key': key } });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('output_format')]);
});
