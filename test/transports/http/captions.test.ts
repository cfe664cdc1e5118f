// Tests the files beside audio: captions for a whole text, requested with a link, reported in headers, and available while
// the audio is; GET and HEAD /audio/{id}.c2pa, the Link header that names it, and the manifests in the files of jobs.
import { spawnSync } from 'node:child_process';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, expect, test } from 'vitest';
import { CaptionFormat, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import type { OpenSigner } from '../../../src/clips/provenance/places.ts';
import { verifyManifest } from '../../../src/clips/provenance/verify.ts';
import { chapters, openJobsGateway } from '../../clips/jobs/open-jobs.ts';
import { certificatesOf, createTestSigner, plainFile, sign, signing } from '../../clips/provenance/signing.ts';
import { isInstalled } from '../../programs.ts';
import { bytesOf, errorOf, openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
const text = 'Hello there, world. This is a second sentence, with <marks> & more of them.';
const linksOf = ({ headers }: Response) => ['X-Captions-Srt', 'X-Captions-Vtt'].map((name) => headers.get(name));
const get = (url: string, init?: RequestInit) => fetch(gateway.here(url), init);

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

const own = await certificatesOf(signing.openSigner);
const linkRequest = { text: 'Good evening.', voice_id: 'tone-low', return_format: 'url', output_format: 'mp3' };

async function openSpoken() {
  const gateway = await openTestGateway(signing);
  const reply = await gateway.send('/api/audio/speech', { body: linkRequest });
  const { audio_url: url } = (await reply.json()) as { audio_url: string };
  return { ...gateway, reply, url, manifestUrl: url.replace(/mp3$/, 'c2pa') };
}

test('a reply with a link names the manifest of the audio, which covers its bytes', async () => {
  const { send, reply, url, manifestUrl } = await openSpoken();
  expect(reply.headers.get('link')).toBe(`<${manifestUrl}>; rel="c2pa-manifest"`);
  const audio = await send(url);
  const link = /^<(.*)>; rel="c2pa-manifest"$/.exec(audio.headers.get('link')!)![1]!;
  expect(new URL(link, url).href).toBe(manifestUrl);
  const made = await send(manifestUrl);
  const manifest = await bytesOf(made);
  expect([made.status, made.headers.get('content-type')]).toEqual([200, 'application/c2pa']);
  expect(verifyManifest(Buffer.from(await bytesOf(audio)), own, Buffer.from(manifest))?.problems).toEqual([]);
});

test('the manifest stays the same, and has an ETag, HEAD and 304', async () => {
  const { send, manifestUrl } = await openSpoken();
  const first = await send(manifestUrl);
  const bytes = await bytesOf(first);
  expect(await bytesOf(await send(manifestUrl))).toEqual(bytes);
  const head = await send(manifestUrl, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
  const etag = first.headers.get('etag')!;
  expect((await send(manifestUrl, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  expect(first.headers.get('cache-control')).toMatch(/^public, max-age=\d+, immutable$/);
});

test('deleted audio has no manifest, in the store either, and unknown ids have none', async () => {
  const { send, url, manifestUrl, isStored } = await openSpoken();
  const audioId = /aud_\w+/.exec(url)![0];
  const key = audioId.replace('aud_', 'man_');
  await bytesOf(await send(manifestUrl));
  expect(await isStored(key)).toBe(true);
  expect((await send(`/api/audio/${audioId}`, { method: 'DELETE' })).status).toBe(204);
  expect(await isStored(key)).toBe(false);
  const [audio, manifest] = [await send(url), await send(manifestUrl)];
  expect(await errorOf(manifest)).toEqual(await errorOf(audio));
  for (const method of ['GET', 'HEAD'])
    expect((await send('/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.c2pa', { method })).status).toBe(404);
});

test('a stored stream names its manifest', async () => {
  const { send } = await openTestGateway(signing);
  const reply = await send('/api/audio/speech', {
    body: { ...linkRequest, text: undefined, text_chunks: ['Good evening.'], method: 'streaming' },
  });
  await bytesOf(reply);
  const url = reply.headers.get('x-audio-url')!;
  expect(reply.headers.get('link')).toBe(`<${url.replace(/mp3$/, 'c2pa')}>; rel="c2pa-manifest"`);
});

test('without a signer there are no manifests and no links to them', async () => {
  const { send } = await openTestGateway();
  const reply = await send('/api/audio/speech', { body: linkRequest });
  const { audio_url: url } = (await reply.json()) as { audio_url: string };
  expect([reply.headers.get('link'), (await send(url)).headers.get('link')]).toEqual([null, null]);
  expect((await send(url.replace(/mp3$/, 'c2pa'))).status).toBe(404);
});

test.each(['wav', 'mp3', 'opus'])('the finished %s of a job is signed, and its ranges fit', async (format) => {
  const { create, untilEnded, send } = await openJobsGateway(signing);
  const { id } = await create({ chapters: chapters.slice(1), output_format: format });
  const { audio_url: url } = await untilEnded(id);
  const reply = await send(url);
  const file = Buffer.from(await bytesOf(reply));
  expect(reply.headers.get('content-length')).toBe(String(file.length));
  const inside = verifyManifest(file, own);
  expect(inside?.problems).toEqual(format === 'opus' ? undefined : []);
  const beside = Buffer.from(await bytesOf(await send(url.replace(/\w+$/, 'c2pa'))));
  expect(verifyManifest(file, own, beside)?.problems).toEqual([]);
  const part = await send(url, { headers: { Range: 'bytes=0-4999' } });
  expect(Buffer.from(await bytesOf(part))).toEqual(file.subarray(0, 5000));
});

test('inspect recognizes a signed file, with former certificates too, but no file that somebody else has signed', async () => {
  const former = createTestSigner();
  const readOwnCertificates = async () => [...own, ...(await certificatesOf(former))];
  const { url, key } = await openTestGateway({ ...signing, readOwnCertificates });
  const inspect = async (openSigner: OpenSigner) => {
    const { file } = await sign(await plainFile('mp3'), 'mp3', openSigner);
    const headers = { 'X-API-Key': key, 'Content-Type': 'audio/mpeg' };
    const reply = await fetch(`${url}/api/audio/inspect`, { method: 'POST', headers, body: new Uint8Array(file) });
    return reply.json();
  };
  for (const openSigner of [signing.openSigner, former])
    expect(await inspect(openSigner)).toMatchObject({ authentic: true, manifest: { valid: true, problems: [] } });
  expect(await inspect(createTestSigner())).toMatchObject({
    authentic: false,
    manifest: { valid: false, issuer: '', problems: [expect.stringContaining('check it with c2patool')] },
    record: null,
  });
});
