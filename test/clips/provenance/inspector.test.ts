// Tests the inspection of files in a worker thread: hostile files are read only up to the limits, accounts take turns, and
// other work goes on.
import { expect, test } from 'vitest';
import { id3Frame, id3Of, sevenBits, vorbisBlock } from '../../../src/audio/origin.ts';
import { wavChunk, wavFile, wavHeader } from '../../../src/audio/wav.ts';
import { inspectFile } from '../../../src/clips/provenance/inspector.ts';
import { box, encodeCbor, labelledBox } from '../../../src/clips/provenance/manifest.ts';
import { certificatesOf, createTestSigner, plainFile, sign } from './signing.ts';

const openSigner = createTestSigner();
const own = await certificatesOf(openSigner);
const never = new AbortController().signal;
const inspect = (file: Uint8Array, owner = 'acc_a', signal = never) => inspectFile({ file, own, owner }, signal);
const mebibyte = 2 ** 20;
const empty = Buffer.alloc(0);
/** Repeats a part until the whole has about a mebibyte. */
const filled = (part: Buffer) => Buffer.concat(Array.from({ length: Math.floor(mebibyte / part.length) }, () => part));

test('a signed file is recognized, and a copy in parts of a larger buffer too', async () => {
  const { file } = await sign(await plainFile('wav'), 'wav', openSigner);
  expect((await inspect(file)).manifest).toMatchObject({ valid: true });
  const view = new Uint8Array(Buffer.concat([Buffer.alloc(100), file, Buffer.alloc(100)])).subarray(100, -100);
  expect((await inspect(view)).manifest).toMatchObject({ valid: true });
});

test('a manifest that repeats an assertion and is not ours is not read', async () => {
  const content = { actions: [{ digitalSourceType: 'x', parameters: { text: 'x'.repeat(700_000) } }] };
  const label = 'c2pa.actions.v2';
  const reference = { url: `self#jumbf=c2pa.assertions/${label}`, hash: Buffer.alloc(32) };
  const claim = encodeCbor({ created_assertions: Array.from({ length: 1900 }, () => reference) });
  const header = encodeCbor(new Map<number, unknown>([[33, own]]));
  const parts = [
    labelledBox('c2as', 'c2pa.assertions', labelledBox('cbor', label, box('cbor', encodeCbor(content)))),
    labelledBox('c2cl', 'c2pa.claim.v2', box('cbor', claim)),
    labelledBox('c2cs', 'c2pa.signature', box('cbor', encodeCbor([header, {}, null, Buffer.alloc(64)]))),
  ];
  const manifest = labelledBox('c2pa', 'c2pa', labelledBox('c2ma', 'urn:c2pa:x', ...parts));
  const file = Buffer.concat([wavFile(new Float32Array(100), 8000), wavChunk('C2PA', manifest)]);
  expect((await inspect(file)).manifest).toMatchObject({ valid: false, problems: [/^signingCredential\.untrusted/] });
});

test('chunks, frames and blocks are read up to a limit', async () => {
  const [riff, format, samples] = [12, 36, 44].map((end, i, ends) =>
    Buffer.from(wavHeader(8000, 0).subarray(ends[i - 1] ?? 0, end)),
  );
  const info = wavChunk('LIST', Buffer.concat([Buffer.from('INFO'), wavChunk('ISFT', Buffer.from('Sonant'))]));
  const chunks = filled(wavChunk('junk', empty));
  const wav = (...parts: Buffer[]) => inspect(Buffer.concat([riff!, format!, ...parts, samples!]));
  expect((await wav(info)).tags).toEqual([{ name: 'ISFT', value: 'Sonant' }]);
  await expect(wav(chunks, info)).resolves.toMatchObject({ format: '', tags: [] });

  const comment = id3Frame(4, 'TSSE', [Buffer.from('\x03Sonant')]);
  const frames = filled(id3Frame(4, 'PRIV', [empty]));
  const mp3 = (...parts: Buffer[]) => inspect(Buffer.concat([id3Of(4, parts), Buffer.from('fffb9000', 'hex')]));
  expect((await mp3(comment, frames)).tags).toEqual([{ name: 'TSSE', value: 'Sonant' }]);
  await expect(mp3(frames, comment)).resolves.toMatchObject({ format: 'mp3', tags: [] });

  const block = (type: number, body: Buffer) =>
    Buffer.concat([Buffer.of(type, 0, body.length >> 8, body.length & 255), body]);
  const comments = block(4, vorbisBlock('', ['ENCODER=Sonant']));
  const flac = (...parts: Buffer[]) =>
    inspect(Buffer.concat([Buffer.from('fLaC'), ...parts, block(0x81, empty), empty]));
  await expect(flac(comments)).resolves.toMatchObject({ format: 'flac', tags: [{ name: 'ENCODER', value: 'Sonant' }] });
  await expect(flac(filled(block(1, empty)), comments)).resolves.toMatchObject({ format: '', tags: [] });
});

test('an object that is not the first frame of its tag is not read, nor is one with a size beyond the file', async () => {
  const { file } = await sign(await plainFile('mp3'), 'mp3', openSigner);
  const size = file.subarray(6, 10).reduce((sum, byte) => sum * 128 + byte, 0);
  const frame = id3Frame(4, 'PRIV', [Buffer.alloc(10)]);
  const later = Buffer.concat([file.subarray(0, 6), sevenBits(size + frame.length), frame, file.subarray(10)]);
  expect((await inspect(later)).manifest).toBeUndefined();
  const cut = file.subarray(0, 300);
  expect((await inspect(cut)).manifest).toMatchObject({ valid: false });
});

test('other accounts displace the waiting files of the account that sends most', async () => {
  const sent = ['acc_a', 'acc_a', 'acc_a', 'acc_a', 'acc_a', 'acc_a', 'acc_a', 'acc_a', 'acc_a', 'acc_a', 'acc_b'];
  const file = wavFile(new Float32Array(100), 8000);
  const ends = await Promise.allSettled(sent.map((owner) => inspect(file, owner)));
  const refused = ends.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []));
  // One file is inspected, and eight wait: the tenth is refused, and the last displaces the ninth.
  expect(refused).toEqual([8, 9]);
  expect(ends[8]).toMatchObject({ reason: { reason: 'overloaded' } });
});

test('a caller who leaves ends the inspection, and the next file is inspected', async () => {
  const leaving = new AbortController();
  const left = inspect(new Uint8Array(32 * mebibyte), 'acc_a', leaving.signal);
  const waiting = inspect(wavFile(new Float32Array(100), 8000));
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await expect(waiting).resolves.toMatchObject({ format: 'wav' });
});

test('other work goes on while a file is inspected', async () => {
  let turns = 0;
  let isRunning = true;
  const count = () => {
    turns++;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  // On a busy machine, this thread may get no time during an inspection, so the best of several counts.
  const inspectCounted = async () => {
    const before = turns;
    const { sha256 } = await inspect(new Uint8Array(32 * mebibyte));
    expect(sha256).toMatch(/^[\da-f]{64}$/);
    return turns - before;
  };
  await expect.poll(inspectCounted).toBeGreaterThan(20);
  isRunning = false;
});
