// Tests `sonant check` with a server that speaks OpenAI's transcription API, answers as a test asks, and can misbehave.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { wavFile } from '../../../src/audio/wav.ts';
import { runMain } from './run-main.ts';

interface Asked {
  authorization: string | undefined;
  fields: Record<string, string>;
}
interface Answer {
  status?: number;
  body: string;
  headers?: Record<string, string>;
}

let folder: string;
let asked: Asked[] = [];
let answer: (fields: Record<string, string>) => Answer;
const server = createServer(async (request, response) => {
  const body = await readText(request);
  const boundary = /boundary=(.+)$/.exec(request.headers['content-type'] ?? '')![1]!;
  const parts = body.split(`--${boundary}`).slice(1, -1);
  const fields = Object.fromEntries(
    parts.map((part) => [/name="([^"]+)"/.exec(part)![1]!, part.slice(part.indexOf('\r\n\r\n') + 4, -2)]),
  );
  asked.push({ authorization: request.headers.authorization, fields });
  const { status = 200, body: said, headers = {} } = answer(fields);
  response.writeHead(request.url === '/v1/audio/transcriptions' ? status : 404, headers).end(said);
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-check-'));
  const sound = Float32Array.from({ length: 16_000 * 320 }, (_, n) => (Math.floor(n / 16_000) % 10 < 9 ? 0.2 : 0));
  writeFileSync(join(folder, 'short.wav'), wavFile(sound.subarray(0, 16_000), 16_000));
  writeFileSync(join(folder, 'long.wav'), wavFile(sound, 16_000));
  writeFileSync(join(folder, 'text.txt'), 'Please do not open the red door.');
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  asked = [];
});

const check = (args: string[], env: Record<string, string> = {}) =>
  runMain(folder, ['check', ...args], '', {
    SONANT_TRANSCRIPTION_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    ...env,
  });
const ofText = ['short.wav', '--text', 'text.txt'];
const wordsOf = (said: string) =>
  said.split(' ').map((word, n) => ({ word: ` ${word}`, start: n / 2, end: n / 2 + 0.4 }));

test('a recording that says its text', async () => {
  answer = () => ({ body: JSON.stringify({ text: 'Please do not open the red door.' }) });
  const { code, out } = await check([...ofText, '--language', 'en-GB'], { SONANT_TRANSCRIPTION_API_KEY: 'secret' });
  expect([code, out]).toEqual([0, 'The recording says all 7 words of the text.\n']);
  const { authorization, fields } = asked[0]!;
  expect(authorization).toBe('Bearer secret');
  expect(fields).toMatchObject({ model: 'whisper-1', language: 'en', response_format: 'verbose_json' });
  expect(fields.file).toMatch(/^RIFF/);
});

test('lists words that are missing, with the time, and exits with 1', async () => {
  answer = () => ({ body: JSON.stringify({ text: 'ignored', words: wordsOf('please do open the red door now') }) });
  const { code, out } = await check([...ofText, '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({
    suspect: true,
    words: 7,
    differences: [
      { kind: 'missing', expected: 'not', from: 10, to: 13, start: null },
      { kind: 'added', heard: 'now', start: 3 },
    ],
  });
  expect((await check(ofText)).out).toMatch(/3\.0 s +31 +added +- +now/);
});

test('asks again without word times if the server refuses them', async () => {
  answer = ({ response_format: format }) =>
    format === 'json' ? { body: '{"text":"please do not open the red door"}' } : { status: 400, body: '{}' };
  expect((await check(ofText)).code).toBe(0);
  expect(asked.map(({ fields }) => fields.response_format)).toEqual(['verbose_json', 'json']);
});

test('cuts a long recording at a quiet moment', async () => {
  answer = () => ({ body: JSON.stringify({ text: asked.length === 1 ? 'please do not' : 'open the red door' }) });
  expect((await check(['long.wav', '--text', 'text.txt'])).code).toBe(0);
  const seconds = asked.map(({ fields }) => Buffer.from(fields.file!).length);
  expect(seconds).toHaveLength(2);
});

test.each([
  ['an error', { status: 503, body: '{"error":"busy"}', headers: { 'Retry-After': '7' } }, /answered 503, /],
  ['a redirect', { status: 302, body: '', headers: { Location: 'http://127.0.0.1:9/' } }, /cannot be reached/],
  ['no transcript', { body: '{"words":[]}' }, /answered 200, /],
  ['text that is no JSON', { body: 'hello' }, /answered 200, /],
  ['an endless answer', { body: ' '.repeat(5 << 20) }, /more than 4 MiB/],
])('fails plainly if the server answers with %s', async (_, given, message) => {
  answer = () => given;
  const { code, err } = await check(ofText);
  expect([code, err]).toEqual([1, expect.stringMatching(message)]);
});

test.each([
  ['without a server', ofText, { SONANT_TRANSCRIPTION_URL: '' }, /set SONANT_TRANSCRIPTION_URL/],
  ['without a text', ['short.wav'], {}, /name the text/],
  ['with a missing file', ['none.wav', '--text', 'text.txt'], {}, /cannot read none\.wav: no such file/],
  ['with a text in place of a recording', ['text.txt', '--text', 'text.txt'], {}, /text\.txt is not /],
  ['with a wrong language', [...ofText, '--language', '?'], {}, /--language \?: must be a code/],
])('refuses a call %s', async (_, args, env, message) => {
  const { code, err } = await check(args, env as Record<string, string>);
  expect([code, err]).toEqual([2, expect.stringMatching(message)]);
});
