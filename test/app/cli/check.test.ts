// Tests `sonant check` with a server that speaks OpenAI's transcription API, answers as a test asks, and can misbehave.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { wavFile } from '../../../src/audio/wav.ts';
import { newFolder } from '../../new-folder.ts';
import {
  openTranscriptionServer,
  type Transcription,
  type TranscriptionAnswer,
} from '../../speech/transcription-server.ts';
import { runMain } from './run-main.ts';

const folder = newFolder(afterAll);
let answer: (asked: Transcription) => TranscriptionAnswer;
let server: Awaited<ReturnType<typeof openTranscriptionServer>>;

beforeAll(async () => {
  const sound = Float32Array.from({ length: 16_000 * 320 }, (_, n) => (Math.floor(n / 16_000) % 10 < 9 ? 0.2 : 0));
  writeFileSync(join(folder, 'short.wav'), wavFile(sound.subarray(0, 64_000), 16_000));
  writeFileSync(join(folder, 'long.wav'), wavFile(sound, 16_000));
  writeFileSync(join(folder, 'text.txt'), 'Please do not open the red door.');
  server = await openTranscriptionServer((asked) => answer(asked));
});
afterAll(() => server.close());
beforeEach(() => {
  server.asked.length = 0;
});

const check = (args: string[], env: Record<string, string> = {}) =>
  runMain(folder, ['check', ...args], '', {
    SONANT_TRANSCRIPTION_URL: server.url,
    ...env,
  });
const ofText = ['short.wav', '--text', 'text.txt'];
const wordsOf = (said: string) =>
  said.split(' ').map((word, n) => ({ word: ` ${word}`, start: n / 2, end: n / 2 + 0.4 }));

test('a recording that says its text', async () => {
  answer = () => ({ body: JSON.stringify({ text: 'Please do not open the red door.' }) });
  const { code, out } = await check([...ofText, '--language', 'en-GB'], { SONANT_TRANSCRIPTION_API_KEY: 'secret' });
  expect([code, out]).toEqual([0, 'The recording says all 7 words of the text.\n']);
  const { authorization, fields } = server.asked[0]!;
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
  answer = ({ fields }) =>
    fields.response_format === 'json'
      ? { body: '{"text":"please do not open the red door"}' }
      : { status: 400, body: '{}' };
  expect((await check(ofText)).code).toBe(0);
  expect(server.asked.map(({ fields }) => fields.response_format)).toEqual(['verbose_json', 'json']);
});

test.each([
  ['with spaces, and parts of words', [' It', ' costs', ' $42', '.50', ' or', ' 1', ',200.']],
  ['without spaces', ['It', 'costs', '42.50', 'dollars', 'or', '1,200']],
])('reads words %s', async (_, words) => {
  writeFileSync(join(folder, 'prices.txt'), 'It costs $42.50 or 1,200.');
  const timed = words.map((word, n) => ({ word, start: n / 2, end: n / 2 + 0.4 }));
  answer = () => ({ body: JSON.stringify({ text: '', words: timed }) });
  expect((await check(['short.wav', '--text', 'prices.txt', '--json'])).code).toBe(0);
});

test('cuts a long recording at a quiet moment', async () => {
  answer = () => ({
    body: JSON.stringify({ text: server.asked.length === 1 ? 'please do not' : 'open the red door' }),
  });
  expect((await check(['long.wav', '--text', 'text.txt'])).code).toBe(0);
  expect(server.asked).toHaveLength(2);
});

test.each([
  ['an error', { status: 503, body: '{"error":"busy"}', headers: { 'Retry-After': '7' } }, /answered 503, /],
  ['a redirect', { status: 302, body: '', headers: { Location: 'http://127.0.0.1:9/' } }, /cannot be reached/],
  ['no transcript', { body: '{"words":[]}' }, /answered 200, /],
  ['text that is no JSON', { body: 'hello' }, /answered 200, /],
  ['the length of another recording', { body: '{"text":"open the red door","duration":"9.9"}' }, /another recording/],
  [
    'a word after the end',
    { body: JSON.stringify({ text: '', words: wordsOf('a b c d e f g h i j k l') }) },
    /another recording/,
  ],
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
