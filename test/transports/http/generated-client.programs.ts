// Tests a client that a public generator creates from the /openapi.json of a running service. The client compiles, and
// knows the types of requests, responses and failures. It receives a link, audio, events, a list and named failures.
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { newFolder } from '../../new-folder.ts';
import { toolProgram } from '../../tool-packages.ts';
import { eventsIn, soundIn } from './event-reader.ts';
import { openTestGateway } from './open-gateway.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..', '..');
const program = (name: string) => join(root, 'node_modules/.bin', name);
const gateway = await openTestGateway({}, afterAll);
const folder = newFolder(afterAll);

/** The program of a user who knows only the types. */
const calls = `
import * as sonant from './client.ts';

sonant.defaults.baseUrl = process.env.SONANT_URL!;
const auth = { headers: { 'X-API-Key': process.env.SONANT_API_KEY! } };
let bytes = new ArrayBuffer(0);
/** For a binary body. */
const binary = {
  ...auth,
  fetch: async (...asked: Parameters<typeof fetch>) => {
    const answer = await fetch(...asked);
    bytes = await answer.clone().arrayBuffer();
    return answer;
  },
};

const asked: sonant.SpeechRequest = { voice_id: 'tone-low', text: 'Hello.', sample_rate: 24000, output_format: 'pcm' };
const link = await sonant.synthesizeSpeech(asked, {}, auth);
if (link.status !== 200) throw new Error(link.status === 204 ? 'nothing came' : link.data.message);
const { audio_url, chars, method } = link.data;

const whole = await sonant.synthesizeAudio(asked, {}, binary);
const sound = Buffer.from(bytes).toString('base64');

const events = await sonant.streamSpeech({ voice_id: 'tone-low', text: 'Hello.', sample_rate: 24000, output_format: 'pcm' }, {}, auth);

const listed = await sonant.listVoices({ limit: 2 }, auth);
if (listed.status !== 200) throw new Error(listed.data.message);
const voices = listed.data.voices.map(({ voice_id, status }) => voice_id + ' is ' + status);

const refused = await sonant.synthesizeSpeech({ ...asked, voice_id: 'nobody' }, {}, auth);
if (refused.status !== 404) throw new Error('it was not refused');
const unknown: sonant.Failure['error'] = refused.data.error;

const bad = await sonant.synthesizeSpeech({ voice_id: 'tone-low' }, {}, auth);
const fields = bad.status === 400 ? bad.data.details?.map(({ field, reason }) => field + ' ' + reason) : [];

console.log(JSON.stringify({ audio_url, chars, method, whole: whole.status, sound, events, voices, unknown, fields }));
`;
const compiler = [
  '--strict',
  '--noEmit',
  '--module',
  'nodenext',
  '--target',
  'es2024',
  '--lib',
  'es2024,dom,dom.iterable',
];

test('a client made by oazapfts compiles, and speaks', async () => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(root, 'tools/node_modules/@oazapfts'), join(folder, 'node_modules/@oazapfts'));
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'calls.ts'), calls);
  const cwd = { cwd: folder, env: { ...process.env, SONANT_URL: gateway.url, SONANT_API_KEY: gateway.key } };
  await run(toolProgram('oazapfts'), [`${gateway.url}/openapi.json`, 'client.ts'], cwd);
  await run(
    program('tsc'),
    [...compiler, '--types', 'node', '--skipLibCheck', '--allowImportingTsExtensions', 'calls.ts'],
    cwd,
  ).catch((fault: { stdout: string }) => expect(fault.stdout).toBe(''));
  const { stdout } = await run(program('node'), ['calls.ts'], cwd);

  const printed = JSON.parse(stdout) as Record<string, unknown> & { sound: string; events: { data: string } };
  expect(printed).toMatchObject({ chars: 6, method: 'rest', whole: 200, unknown: 'voice_not_found' });
  expect(printed).toMatchObject({ fields: ['text required'], voices: ['tone-low is ready', 'tone-high is ready'] });
  const kept = await gateway.send(String(printed.audio_url));
  expect(Buffer.from(await kept.arrayBuffer()).toString('base64')).toBe(printed.sound);
  expect(soundIn(eventsIn(printed.events.data)).toString('base64')).toBe(printed.sound);
});
