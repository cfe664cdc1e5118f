// Tests `sonant book --server URL` against a running service: the file equals that of a local run, despite broken
// connections and refusals. served-book.programs.ts tests interrupted commands.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPlace } from '../../src/provenance/places.ts';
import { verifyManifest } from '../../src/provenance/verify.ts';
import { runMain } from './run-main.ts';
import { serve } from './serving-program.ts';

let folder: string;
let service: Awaited<ReturnType<typeof serve>>;
let proxy: Awaited<ReturnType<typeof openProxy>>;
const closers: (() => Promise<void>)[] = [];
const ms = 120_000;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-served-book-'));
  proxy = await openProxy();
  service = await serve([], { SONANT_BASE_URL: proxy.url }, (close) => closers.push(close));
  proxy.target = service.url;
  const scenes = (n: number) => `# Chapter ${n}\n\nThe lamp went out on day ${n}. Nobody saw it.\n\n`;
  writeFileSync(join(folder, 'ledger.md'), scenes(1) + scenes(2) + scenes(3));
  const said = 'The keeper wrote the day and the weather into the ledger. ';
  writeFileSync(join(folder, 'long.txt'), [1, 2].map((n) => `Chapter ${n}\n\n${said.repeat(30)}`).join('\n\n'));
}, ms);
afterAll(async () => {
  for (const close of closers) await close();
  proxy.close();
  rmSync(folder, { recursive: true });
});

/** Forwards everything, but cuts the first replies to these paths after some bytes, or refuses the first requests. */
async function openProxy() {
  const state = {
    target: '',
    cuts: [] as { path: RegExp; bytes: number }[],
    cutCount: 0,
    refusals: [] as { path: RegExp; status: number; error: string }[],
  };
  const server = createServer((incoming, outgoing) => {
    const { method, url = '', headers } = incoming;
    const refusedAt = state.refusals.findIndex(({ path }) => path.test(url));
    if (refusedAt >= 0) {
      const [{ status, error }] = state.refusals.splice(refusedAt, 1) as [(typeof state.refusals)[number]];
      outgoing.writeHead(status).end(JSON.stringify({ error, message: 'The audio is gone' }));
      return;
    }
    const onward = request(state.target + url, { method, headers }, (reply: IncomingMessage) => {
      outgoing.writeHead(reply.statusCode!, reply.headers);
      const at = state.cuts.findIndex(({ path }) => path.test(url));
      let left = at < 0 ? Infinity : state.cuts.splice(at, 1)[0]!.bytes;
      reply.on('data', (bytes: Buffer) => {
        outgoing.write(bytes.subarray(0, left));
        left -= bytes.length;
        if (left > 0 || outgoing.destroyed) return;
        state.cutCount++;
        setTimeout(() => outgoing.destroy(), 50);
        reply.destroy();
      });
      reply.on('end', () => outgoing.end());
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return Object.assign(state, { url: `http://127.0.0.1:${port}`, close });
}

const book = (...args: string[]) => runMain(folder, ['book', ...args]);
const atService = (...args: string[]) => book(...args, '--server', service.url, '--key', service.key);
const read = (name: string) => readFileSync(join(folder, name));
/** Verifies the manifest of a WAV. Returns its samples and tags, without the signature, which differs between files. */
function soundOf(name: string): Buffer {
  const file = read(name);
  const certificates = [folder, service.folder].map((each) => readFileSync(join(each, 'data/provenance.pem')));
  const own = certificates.map((pem) => new X509Certificate(pem).raw);
  expect(verifyManifest(file, own)?.problems).toEqual([]);
  return file.subarray(8, findPlace(file)!.start - 8);
}
const jobs = async (): Promise<{ id: string; status: string }[]> => {
  const reply = await fetch(`${service.url}/api/audio/jobs`, { headers: { 'x-api-key': service.key } });
  return ((await reply.json()) as { jobs: { id: string; status: string }[] }).jobs;
};

test(
  'makes the file and the captions that the command makes by itself',
  async () => {
    const flags = [
      '--chapters',
      '2-',
      '--captions',
      'srt,vtt',
      '--voice',
      'clara',
      '--voice',
      '3=arthur',
      '--gap',
      '1',
    ];
    const served = await atService('ledger.md', '-o', 'served.wav', ...flags, '--json');
    expect([served.code, served.err]).toEqual([0, '']);
    const here = await book('ledger.md', '-o', 'here.wav', ...flags, '--json');
    expect([here.code, here.err]).toEqual([0, '']);
    expect(soundOf('served.wav').equals(soundOf('here.wav'))).toBe(true);
    for (const kind of ['srt', 'vtt']) expect(read(`served.${kind}`).equals(read(`here.${kind}`))).toBe(true);
    const told = JSON.parse(served.out);
    expect(told.chapters).toMatchObject([{ title: 'Chapter 2', start: 0 }, { title: 'Chapter 3' }]);
    const { title, format } = JSON.parse(here.out);
    const bytes = read('served.wav').length;
    expect(told).toMatchObject({ output: 'served.wav', bytes, title, format, captions: ['served.srt', 'served.vtt'] });
    expect(await jobs()).toMatchObject([{ id: told.job_id, status: 'succeeded' }]);
    expect(readdirSync(folder).filter((name) => name.includes('.work'))).toEqual([]);
    const lines = await atService('ledger.md', '--list');
    expect(lines.out).toBe((await book('ledger.md', '--list')).out);
  },
  ms,
);

test(
  'another voice begins another job, and the former one ends',
  async () => {
    const before = (await jobs()).length;
    const work = join(folder, 'voice.mp3.work');
    mkdirSync(work);
    const made = { voice_id: 'clara', text: 'Nobody waits for it. '.repeat(500) };
    const headers = { 'x-api-key': service.key, 'content-type': 'application/json' };
    const body = JSON.stringify(made);
    await fetch(`${service.url}/api/audio/jobs/former`, { method: 'PUT', headers, body });
    writeFileSync(join(work, 'job.json'), JSON.stringify({ url: service.url, id: 'former', fingerprint: 'another' }));
    const { code, err, out } = await atService('ledger.md', '-o', 'voice.mp3', '--voice', 'otto', '--json');
    expect([code, err]).toEqual([0, '']);
    const all = await jobs();
    expect(all).toHaveLength(before + 1);
    expect(all[0]).toMatchObject({ id: JSON.parse(out).job_id });
  },
  ms,
);

test(
  'tells that its job was deleted meanwhile',
  async () => {
    const before = await jobs();
    const spoken = atService('long.txt', '-o', 'deleted.mp3');
    let id: string | undefined;
    while (!id) {
      await sleep(20);
      id = (await jobs()).find((job) => !before.some((each) => each.id === job.id))?.id;
    }
    const init = { method: 'DELETE', headers: { 'x-api-key': service.key } };
    expect((await fetch(`${service.url}/api/audio/jobs/${id}`, init)).status).toBe(204);
    const { code, err } = await spoken;
    expect([code, err]).toEqual([1, expect.stringContaining(`${service.url} replied: `)]);
  },
  ms,
);

test.each([
  ['the job', /\/api\/audio\/jobs\/[^/]+$/, 'not_found', 404, 'has no job'],
  ['the audio by its time', /^\/audio\/.*\.wav$/, 'audio_expired', 410, 'has deleted the audio of job'],
  ['the file of the audio', /^\/audio\/.*\.wav$/, 'not_found', 404, 'has deleted the audio of job'],
])(
  'begins a new job where %s is gone when the command is given again',
  async (_what, path, error, status, told) => {
    const command = ['ledger.md', '-o', 'gone.wav', '--server', proxy.url, '--key', service.key, '--json'];
    proxy.refusals = [{ path: /^\/audio\/.*\.wav$/, status: 410, error: 'audio_expired' }];
    const first = await book(...command);
    expect([first.code, first.err]).toEqual([1, expect.stringContaining('The audio is gone')]);
    const { id } = JSON.parse(read('gone.wav.work/job.json').toString());
    proxy.refusals = [{ path, status, error }];
    const again = await book(...command);
    expect([again.code, again.err]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^sonant: .* ${told} ${id}[^\\n]*\\n$`)),
    ]);
    expect(JSON.parse(again.out).job_id).not.toBe(id);
    expect(read('gone.wav').toString('latin1', 0, 4)).toBe('RIFF');
    expect(existsSync(join(folder, 'gone.wav.work'))).toBe(false);
  },
  ms,
);

test(
  'goes on where connections break',
  async () => {
    proxy.cuts = [
      { path: /\/events$/, bytes: 200 },
      { path: /\/events$/, bytes: 4_000 },
      { path: /^\/audio\/.*\.wav$/, bytes: 30_000 },
      { path: /^\/audio\/.*\.wav$/, bytes: 10_000 },
    ];
    const flags = ['--server', proxy.url, '--key', service.key, '--captions', 'srt'];
    const { code, err } = await book('ledger.md', '-o', 'broken.wav', ...flags);
    expect([code, err]).toEqual([0, expect.stringContaining('trying again')]);
    expect(proxy.cutCount).toBe(4);
    const whole = await atService('ledger.md', '-o', 'whole.wav', '--captions', 'srt');
    expect(whole.code).toBe(0);
    expect(soundOf('broken.wav').equals(soundOf('whole.wav'))).toBe(true);
    expect(read('broken.srt').equals(read('whole.srt'))).toBe(true);
  },
  ms,
);

test(
  'tells what the service refuses as what the command line refuses',
  async () => {
    const listed = readdirSync(folder).toSorted();
    const count = (await jobs()).length;
    const told = async (code: number, words: string, ...args: string[]) => {
      const ended = await book('ledger.md', '-o', 'no.mp3', ...args);
      expect([args, ended.code, ended.err]).toEqual([args, code, expect.stringContaining(words)]);
      return ended.err;
    };
    const server = ['--server', service.url];
    const known = [...server, '--key', service.key];
    await told(2, '--key needs --server', '--key', service.key);
    await told(2, 'is not a URL', '--server', 'tts.example');
    await told(2, 'an API key is needed', '--server', 'http://tts.example');
    await told(1, `cannot reach http://127.0.0.1:9`, '--server', 'http://127.0.0.1:9', '--key', 'snt_x');
    const wrong = await told(1, `${service.url} replied: `, ...server, '--key', 'snt_wrong');
    expect(wrong).not.toContain('    at ');
    await told(2, `${service.url} has no such voice`, ...known, '--voice', 'nobody');
    await told(2, `${service.url} has no such voice`, ...known, '--voice', '1=nobody', '--voice', 'clara');
    await told(2, '--sample-rate: must be one of', ...known, '--sample-rate', '7');
    await told(2, 'chapters 1 to 3', ...known, '--chapters', '9');
    await told(2, '--gap: must be 0 to 60', ...known, '--gap', '90');
    expect((await atService('nothing.epub', '-o', 'no.mp3')).err).toContain('cannot read nothing.epub');
    writeFileSync(join(folder, 'a.pdf'), '%PDF-1.7');
    const pdf = await atService('a.pdf', '-o', 'no.mp3');
    expect([pdf.code, pdf.err]).toEqual([2, expect.stringContaining('a.pdf: is a PDF')]);
    rmSync(join(folder, 'a.pdf'));
    mkdirSync(join(folder, 'no.mp3.work'));
    writeFileSync(join(folder, 'no.mp3.work', 'work.db'), '');
    await told(2, 'was started without --server', ...known);
    rmSync(join(folder, 'no.mp3.work'), { recursive: true });
    expect(readdirSync(folder).toSorted()).toEqual(listed);
    expect(await jobs()).toHaveLength(count);
  },
  ms,
);
