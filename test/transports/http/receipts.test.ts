// Tests the receipts of audio and jobs: OpenSSL alone verifies them, a changed byte is found, only the key that made the
// audio reads them, and they are deleted with it.
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ProvenanceService } from '../../../gen/sonant/v1/provenance_pb.ts';
import { loadConfig } from '../../../src/app/config.ts';
import { receiptKeyOf } from '../../../src/clips/beside-audio.ts';
import { openClipStore } from '../../../src/clips/open-clips.ts';
import type { Pcm } from '../../../src/platform/pcm.ts';
import { chapters, openJobsGateway, scopes } from '../../clips/jobs/open-jobs.ts';
import { signing } from '../../clips/provenance/signing.ts';
import { openTakes, speakGoodAndBad } from '../../engines/takes-engine.ts';
import { newFolder } from '../../new-folder.ts';
import { isInstalled } from '../../programs.ts';
import { sentences } from '../../sentences.ts';
import { bytesOf, failureOf, openTestGateway, type TestGateway } from './open-gateway.ts';

const text = 'It costs $5. Really!';
const gateway = await openTestGateway(signing, afterAll);

interface Signed {
  receipt: string;
  signature: string;
}

const readSigned = async (reply: Response): Promise<Signed> => {
  expect([reply.status, reply.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return (await reply.json()) as Signed;
};

async function speakLink({ speak, send }: Pick<TestGateway, 'speak' | 'send'>, body: object = {}) {
  const reply = await speak({ text, ...body });
  const { audio_url: url } = (await reply.json()) as { audio_url: string };
  const audioId = /aud_\w+/.exec(url)![0];
  const path = `/api/audio/${audioId}/receipt`;
  const readReceipt = async () => readSigned(await send(path));
  return { audioId, path, readReceipt, readFile: async () => bytesOf(await send(url)) };
}

/** Runs the commands of docs/provenance.md on the files of a publisher. */
async function check({ receipt, signature }: Signed, audio?: Uint8Array) {
  const folder = newFolder();
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content);
  write('receipt.json', receipt);
  write('receipt.p7s', Buffer.from(signature, 'base64'));
  write('certificates.pem', (await signing.openSigner()).chain.join(''));
  if (audio) write('audio', audio);
  const run = (script: string) => spawnSync('bash', ['-euc', script], { cwd: folder, encoding: 'utf8' });
  const { start, bytes, sha256 } = audio ? JSON.parse(receipt).sound : {};
  const { status, stderr } = run(
    'openssl cms -verify -binary -inform DER -in receipt.p7s -content receipt.json -CAfile certificates.pem -purpose any -out /dev/null',
  );
  const { stdout } = audio ? run(`tail -c +${start + 1} audio | head -c ${bytes} | sha256sum`) : { stdout: '' };
  return { isSigned: status === 0, stderr, isSound: stdout.startsWith(sha256 ?? '-') };
}

describe.skipIf(!isInstalled('openssl'))('OpenSSL', () => {
  test.each(['wav', 'mp3', 'opus', 'flac', 'pcm'])(
    'verifies the receipt and the sound of a link (%s)',
    async (format) => {
      const { readReceipt, readFile } = await speakLink(gateway, { output_format: format });
      const [signed, file] = [await readReceipt(), await readFile()];
      expect(await check(signed, file)).toEqual({
        isSigned: true,
        stderr: expect.stringMatching(/success/i),
        isSound: true,
      });
      const { start, bytes } = JSON.parse(signed.receipt).sound;
      for (const at of [start, start + bytes - 1]) {
        const other = Buffer.from(file);
        other[at]! ^= 1;
        expect(await check(signed, other)).toMatchObject({ isSigned: true, isSound: false });
      }
    },
  );

  test('refuses a receipt with another word, another figure, or the signature of another receipt', async () => {
    const signed = await (await speakLink(gateway)).readReceipt();
    const another = await (await speakLink(gateway, { text: 'Another.' })).readReceipt();
    const changed = [
      { ...signed, receipt: signed.receipt.replace('costs', 'costz') },
      { ...signed, receipt: signed.receipt.replace('"takes":1', '"takes":2') },
      { ...signed, receipt: `${signed.receipt}\n` },
      { ...signed, signature: another.signature },
    ];
    for (const each of changed) {
      expect(each).not.toEqual(signed);
      expect(await check(each)).toMatchObject({ isSigned: false, stderr: expect.stringMatching(/fail|mismatch/i) });
    }
  });
});

test('a receipt has what a recognizer heard', async () => {
  const heard = { text: 'It costs nine dollars', wordErrors: 1, longestRun: 1, isSuspect: false };
  const gateway = await openTestGateway({ ...signing, verifier: () => async () => heard });
  const { readReceipt } = await speakLink(gateway, { verify: 'report' });
  const { segments } = JSON.parse((await readReceipt()).receipt);
  expect(segments[0]).toMatchObject({ heard: heard.text, word_errors: 1, faults: [] });
  heard.text = 'and '.repeat(1_000);
  const { segments: babbled } = JSON.parse(
    (await (await speakLink(gateway, { text, verify: 'report', seed: 2 })).readReceipt()).receipt,
  );
  expect(babbled.map(({ heard, text }: Record<string, string>) => heard!.length - text!.length)).toEqual([200, 200]);
});

test('a receipt has the words, the voice, the engine and the time of each segment', async () => {
  const { audioId, readReceipt } = await speakLink(gateway, { output_format: 'mp3', sample_rate: 24_000 });
  const receipt = JSON.parse((await readReceipt()).receipt);
  expect(receipt).toEqual({
    ...{ version: 1, id: expect.stringMatching(/^rcp_[\w-]{26}$/), service: 'Sonant 1.2.3' },
    ...{ created_at: expect.any(String), audio_id: audioId, format: 'mp3', sample_rate: 24_000 },
    seconds: expect.any(Number),
    sound: { sha256: expect.stringMatching(/^[\da-f]{64}$/), start: expect.any(Number), bytes: expect.any(Number) },
    segments: ['It costs $5', 'Really'].map((text) => ({
      ...{ text, voice_id: 'tone-low', engine: 'tone', takes: 1 },
      ...{ start: expect.any(Number), seconds: expect.any(Number) },
    })),
  });
  const [first, second] = receipt.segments;
  expect(second.start).toBeGreaterThanOrEqual(first.start + first.seconds - 0.001);
});

test('a receipt has what the engine spoke where the markup hides the words', async () => {
  const ssml = '<speak><sub alias="I sell it">I keep it</sub>, <phoneme alphabet="ipa" ph="noʊ">yes</phoneme>.</speak>';
  const { readReceipt } = await speakLink(gateway, { text: undefined, ssml });
  const { segments } = JSON.parse((await readReceipt()).receipt);
  expect(segments).toMatchObject([{ text: 'I keep it yes', spoken: 'I sell it, yes' }]);
});

test('clients of Connect get the same receipt', async () => {
  const { audioId, readReceipt } = await speakLink(gateway);
  const transport = createConnectTransport({ baseUrl: gateway.url, httpVersion: '1.1' });
  const headers = { 'X-API-Key': gateway.key };
  const { receipt, signature } = await createClient(ProvenanceService, transport).getAudioReceipt(
    { audioId },
    { headers },
  );
  expect(receipt).toBe((await readReceipt()).receipt);
  if (isInstalled('openssl'))
    expect(await check({ receipt, signature: Buffer.from(signature).toString('base64') })).toMatchObject({
      isSigned: true,
    });
});

test('the receipt of a stored stream has the segments of all chunks', async () => {
  const body = { method: 'streaming', text_chunks: ['One two.', 'Three four.'], return_format: 'url' };
  const reply = await gateway.speak(body);
  await bytesOf(reply);
  const path = `/api/audio/${/aud_\w+/.exec(reply.headers.get('x-audio-url')!)![0]}/receipt`;
  const { segments } = JSON.parse((await readSigned(await gateway.send(path))).receipt);
  expect(segments.map(({ text }: { text: string }) => text)).toEqual(['One two', 'Three four']);
});

test('an account reads one receipt at a time, because each is signed as a whole', async () => {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const openSigner = async () => {
    begun++;
    await gate.promise;
    return signing.openSigner();
  };
  const gateway = await openTestGateway({ ...signing, openSigner });
  const { path } = await speakLink(gateway);
  const replies = Array.from({ length: 6 }, () => gateway.send(path));
  await expect.poll(() => begun).toBe(1);
  await gateway.send(`${path}s`);
  expect(begun).toBe(1);
  gate.resolve();
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(Array(6).fill(200));
});

test('only the key that made the audio reads its receipt, until the audio is deleted', async () => {
  const { audioId, path, readReceipt } = await speakLink(gateway);
  await readReceipt();
  const notHere = [404, 'not_found', 'Audio not found for this key.'];
  for (const headers of [{ 'X-API-Key': await gateway.makeKey() }, { 'X-API-Key': await gateway.makeKey() }])
    expect(await failureOf(await gateway.send(path, { headers }))).toEqual(notHere);
  expect((await gateway.send(path, { headers: { 'X-API-Key': '' } })).status).toBe(401);
  expect(await failureOf(await gateway.send(path.replace(/.{26}\/receipt/, `${'0'.repeat(26)}/receipt`)))).toEqual(
    notHere,
  );
  const receiptKey = audioId.replace('aud_', 'rec_');
  expect(await gateway.isStored(receiptKey)).toBe(true);
  expect((await gateway.send(`/api/audio/${audioId}`, { method: 'DELETE' })).status).toBe(204);
  expect(await gateway.isStored(receiptKey)).toBe(false);
  expect((await failureOf(await gateway.send(path))).slice(0, 2)).toEqual([410, 'audio_expired']);
});

test('expired audio loses its receipt in the next sweep', async () => {
  const gateway = await openTestGateway({ ...signing, retentionMs: 1_000 });
  const { audioId, path } = await speakLink(gateway);
  await expect.poll(async () => (await gateway.send(path)).status, { timeout: 10_000 }).toBe(410);
  await gateway.sweep.run();
  expect(await gateway.isStored(receiptKeyOf(audioId))).toBe(false);
});

test('audio that was first returned without a link has no receipt, and neither has any without provenance', async () => {
  const said = { text: 'Not for a link.' };
  await bytesOf(await gateway.speak({ ...said, return_format: 'buffer' }));
  const { path } = await speakLink(gateway, said);
  expect(await failureOf(await gateway.send(path))).toEqual([
    404,
    'not_found',
    expect.stringContaining('without a link'),
  ]);
  const plain = await openTestGateway();
  const { audioId, path: plainPath } = await speakLink(plain);
  expect(await failureOf(await plain.send(plainPath))).toEqual([404, 'not_found', expect.stringContaining('is off')]);
  expect(await plain.isStored(receiptKeyOf(audioId))).toBe(false);
});

test('without SONANT_RECEIPTS, links and jobs have no receipt, and no manifest names one', async () => {
  const dir = newFolder();
  const env = { SONANT_DATA_DIR: dir, SONANT_RECEIPTS: 'off' };
  const store = await openClipStore(loadConfig({ env, folder: dir, engines: [] }));
  const gateway = await openJobsGateway({ ...signing, store });
  const { audioId, path } = await speakLink(gateway);
  expect((await gateway.send(path)).status).toBe(404);
  const { id } = await gateway.create({ output_format: 'mp3' });
  const { audio_url: url } = await gateway.untilEnded(id);
  for (const address of [url, `/audio/${audioId}.c2pa`]) {
    const file = await bytesOf(await gateway.send(address));
    expect([file.includes('c2pa'), file.includes('rcp_')]).toEqual([true, false]);
  }
  const stored = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('_'));
  expect(stored.length).toBeGreaterThanOrEqual(6);
  expect(stored.filter((name) => name.includes('rec_'))).toEqual([]);
});

test('a manifest names the receipt by an id that does not lead to the audio', async () => {
  const { audioId, readReceipt } = await speakLink(gateway);
  const { id } = JSON.parse((await readReceipt()).receipt);
  const manifest = await bytesOf(await gateway.send(`/audio/${audioId}.c2pa`));
  expect([manifest.includes(id), manifest.includes(audioId)]).toEqual([true, false]);
});

describe('the receipt of a job', () => {
  test.each(['wav', 'mp3', 'opus'])('has those of its chapters, and is named in the manifest (%s)', async (format) => {
    const { create, untilEnded, sendJobs, send, makeKey } = await openJobsGateway(signing);
    const { id } = await create({ output_format: format });
    const job = await untilEnded(id);
    const signed = await readSigned(await sendJobs(`/${id}/receipt`));
    const receipt = JSON.parse(signed.receipt);
    const file = await bytesOf(await send(job.audio_url));
    expect(receipt).toMatchObject({ version: 1, audio_id: /aud_\w+/.exec(job.audio_url)![0], format });
    expect(receipt.chapters.map(({ title }: { title: string }) => title)).toEqual(chapters.map(({ title }) => title));
    expect(receipt.chapters.map(({ start }: { start: number }) => start)).toEqual(
      job.chapters.map(({ start }: { start: number }) => expect.closeTo(start, 2)),
    );
    const words = receipt.chapters.map(({ receipt: { segments } }: { receipt: { segments: { text: string }[] } }) =>
      segments.map(({ text: each }) => each).join(' '),
    );
    const plain = (given: string) => given.replace(/[^a-z]+/gi, ' ').trim();
    expect(words.map(plain)).toEqual(chapters.map((chapter) => plain(chapter.text)));
    if (format === 'opus') expect(file.includes(receipt.id)).toBe(false);
    else expect([file.includes(receipt.id), file.includes(receipt.audio_id)]).toEqual([true, false]);
    if (isInstalled('openssl')) expect(await check(signed, file)).toMatchObject({ isSigned: true, isSound: true });
    for (const [i, chapter] of job.chapters.entries()) {
      const own = await bytesOf(await send(chapter.audio_url));
      const { sound } = receipt.chapters[i].receipt;
      if (isInstalled('openssl')) {
        const ofChapter = { ...signed, receipt: JSON.stringify({ sound }) };
        expect(await check(ofChapter, own)).toMatchObject({ isSound: true });
      }
    }
    const headers = { 'X-API-Key': await makeKey(scopes) };
    expect((await sendJobs(`/${id}/receipt`, { headers })).status).toBe(404);
  });

  test('exists when the job has succeeded, and is deleted with it', async () => {
    const { create, untilEnded, sendJobs, isStored, openOwnJobs } = await openJobsGateway({
      ...signing,
      jobChaptersMax: 0,
    });
    const { id } = await create();
    const early = await failureOf(await sendJobs(`/${id}/receipt`));
    expect(early).toEqual([404, 'not_found', 'A job has no receipt until it has succeeded.']);
    const worker = openOwnJobs();
    onTestFinished(() => worker.close());
    const { audio_url, chapters: done } = await untilEnded(id);
    const keys = [audio_url, ...done.map((each: { audio_url: string }) => each.audio_url)].map((url: string) =>
      receiptKeyOf(/aud_\w+/.exec(url)![0]),
    );
    const areStored = () => Promise.all(keys.map(isStored));
    expect(await areStored()).toEqual([true, true, true, true]);
    expect((await sendJobs(`/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await areStored()).toEqual([false, false, false, false]);
  });

  test('is not returned once its audio has ended, also before it is removed', async () => {
    const { create, untilEnded, sendJobs, rows } = await openJobsGateway(signing);
    const { id } = await create();
    const { audio_url: url } = await untilEnded(id);
    await rows.expireAt([/aud_\w+/.exec(url)![0]], Date.now());
    expect((await failureOf(await sendJobs(`/${id}/receipt`))).slice(0, 2)).toEqual([410, 'audio_expired']);
  });

  let good: Pcm;
  let bad: Pcm;
  beforeAll(async () => {
    ({ good, bad } = await speakGoodAndBad(sentences[0]!));
  }, 60_000);

  test('has the takes and the faults of each segment, and the job the time of its suspects', async () => {
    const engines = [openTakes([good, bad, bad, bad, bad, good])];
    const { create, untilEnded, sendJobs } = await openJobsGateway({ ...signing, engines });
    const { id } = await create({ chapters: undefined, text: Array(3).fill(sentences[0]).join('\n\n') });
    const {
      chapters: [{ suspects }],
    } = await untilEnded(id);
    const {
      chapters: [{ receipt }],
    } = JSON.parse((await readSigned(await sendJobs(`/${id}/receipt`))).receipt);
    expect(receipt.segments.map(({ takes, faults }: { takes: number; faults: string[] }) => [takes, faults])).toEqual([
      [1, []],
      [3, ['silence']],
      [2, []],
    ]);
    expect(suspects).toMatchObject([{ start: receipt.segments[1].start, faults: ['silence'] }]);
  });
});
