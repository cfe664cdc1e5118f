// Tests captions for a whole text: requested with a link, reported in headers, and available while the audio is.
import { spawnSync } from 'node:child_process';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, expect, test } from 'vitest';
import { CaptionFormat, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { isInstalled } from '../../programs.ts';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
const text = 'Hello there, world. This is a second sentence, with <marks> & more of them.';
const linksOf = ({ headers }: Response) => ['X-Captions-Srt', 'X-Captions-Vtt'].map((name) => headers.get(name));
const get = (url: string, init?: RequestInit) => fetch(gateway.here(url), init);
const errorOf = async (answer: Response) => [answer.status, ((await answer.json()) as { error: string }).error];

test('links are in headers, and the body has its six members', async () => {
  const answer = await gateway.speak({ text, captions: ['srt', 'vtt'] });
  const body = (await answer.json()) as { audio_url: string };
  expect(Object.keys(body)).toEqual(['status', 'audio_url', 'voice_name', 'method', 'chars', 'format']);
  const base = body.audio_url.replace(/\.wav$/, '');
  expect(linksOf(answer)).toEqual([`${base}.srt`, `${base}.vtt`]);
  const [srt, vtt] = await Promise.all(linksOf(answer).map((url) => get(url!)));
  expect(srt!.headers.get('Content-Type')).toBe('application/x-subrip');
  expect(vtt!.headers.get('Content-Type')).toBe('text/vtt; charset=utf-8');
  expect(vtt!.headers.get('Cache-Control')).toMatch(/^public, max-age=\d+, immutable$/);
  const written = await vtt!.text();
  expect(written).toMatch(/^WEBVTT\n\n00:00:00\.\d{3} --> 00:00:\d\d\.\d{3}\nHello there, world\.\n/);
  expect(written).toContain('&lt;marks&gt; &amp; more');
  expect(await srt!.text()).toMatch(/^1\n00:00:00,\d{3} --> 00:00:\d\d,\d{3}\nHello there, world\.\n/);
  const seconds = Number(answer.headers.get('X-Audio-Duration'));
  const [, last] = /(\d\d\.\d{3})\n[^\n]+\n(?:[^\n]+\n)?$/.exec(written)!;
  expect(Math.abs(Number(last) - seconds)).toBeLessThan(0.002);
});

test('a file of captions has a head and an ETag', async () => {
  const [, url] = linksOf(await gateway.speak({ text: 'With a head.', captions: ['vtt'] }));
  const head = await get(url!, { method: 'HEAD' });
  expect([head.status, Number(head.headers.get('Content-Length')) > 20, await head.text()]).toEqual([200, true, '']);
  const etag = head.headers.get('ETag')!;
  expect((await get(url!, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  expect((await get(url!, { headers: { 'If-Match': `W/${etag}` } })).status).toBe(412);
});

test('only requested captions are linked, and cached audio has captions too', async () => {
  const said = { text: 'From the cache.' };
  const without = await gateway.speak(said);
  expect(linksOf(without)).toEqual([null, null]);
  const { audio_url } = (await without.json()) as { audio_url: string };
  expect(await errorOf(await get(audio_url.replace('.wav', '.srt')))).toEqual([404, 'not_found']);
  const first = await gateway.speak({ ...said, captions: ['vtt'] });
  const second = await gateway.speak({ ...said, captions: ['srt'] });
  expect([first, second].map(({ headers }) => headers.get('X-Cache'))).toEqual(['MISS', 'HIT']);
  expect([linksOf(first)[0], linksOf(second)[1]]).toEqual([null, null]);
  expect((await get(linksOf(second)[0]!)).status).toBe(200);
});

test('they go with the audio', async () => {
  const answer = await gateway.speak({ text: 'Soon to be deleted.', captions: ['srt'] });
  const url = linksOf(answer)[0]!;
  const id = answer.headers.get('X-Audio-Id')!;
  const key = id.replace('aud_', 'cap_');
  expect(await gateway.clips.open(key).then((clip) => clip?.body.toArray())).toBeDefined();
  expect((await gateway.send(`/api/audio/${id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await errorOf(await get(url))).toEqual([410, 'audio_expired']);
  expect(await gateway.clips.open(key)).toBeUndefined();
});

test.each<[string, object, string]>([
  ['a stream', { method: 'streaming', text_chunks: ['a'], captions: ['srt'] }, 'captions conflict'],
  ['sound in the reply', { text: 'a', return_format: 'buffer', captions: ['srt'] }, 'captions conflict'],
  ['a kind that there is not', { text: 'a', captions: ['ass'] }, 'captions[0] enum'],
  ['a kind twice', { text: 'a', captions: ['srt', 'srt'] }, 'captions[1] duplicate'],
  ['no list', { text: 'a', captions: 'srt' }, 'captions type'],
])('are refused for %s', async (_, fields, fault) => {
  const answer = await gateway.speak(fields);
  const { details } = (await answer.json()) as { details: { field: string; reason: string }[] };
  expect([answer.status, details.map(({ field, reason }) => `${field} ${reason}`)]).toEqual([400, [fault]]);
});

test('over Connect they are links in the answer', async () => {
  const client = createClient(SpeechService, createConnectTransport({ baseUrl: gateway.url, httpVersion: '1.1' }));
  const captions = [CaptionFormat.VTT, CaptionFormat.SRT];
  const headers = { 'X-API-Key': gateway.key };
  const answer = await client.synthesizeSpeech({ voiceId: 'tone-low', text, captions }, { headers });
  expect(answer.captions.map(({ format }) => format)).toEqual(captions);
  for (const { url } of answer.captions) expect((await get(url)).status).toBe(200);
});

test.skipIf(!isInstalled('ffmpeg'))('ffmpeg reads both', async () => {
  for (const url of linksOf(await gateway.speak({ text, captions: ['srt', 'vtt'] }))) {
    const input = Buffer.from(await (await get(url!)).arrayBuffer());
    const args = ['-v', 'error', '-f', url!.endsWith('vtt') ? 'webvtt' : 'srt', '-i', '-', '-f', 'srt', '-'];
    const { stdout, stderr } = spawnSync('ffmpeg', args, { input });
    expect([stderr.toString(), stdout.toString().includes('This is a second sentence')]).toEqual(['', true]);
  }
});
