// Tests signed files with Sonant's verifier and an independent verifier: unchanged, changed, signed by others, and with an
// expired certificate. For malformed files, the verifier reports faults and never throws.
import { randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeSilence, type FormatName } from '../../../src/audio/formats.ts';
import { readWavHeader } from '../../../src/audio/wav-reader.ts';
import { box } from '../../../src/clips/provenance/manifest.ts';
import { findPlace } from '../../../src/clips/provenance/places.ts';
import { verifyManifest } from '../../../src/clips/provenance/verify.ts';
import {
  certificatesOf,
  createTestSigner,
  hasIndependentVerifier,
  plainFile,
  type Signed,
  sign,
  verifyIndependently,
} from './signing.ts';

const formats = ['wav', 'mp3', 'flac', 'opus'] as const satisfies FormatName[];
const openSigner = createTestSigner();
const own = await certificatesOf(openSigner);
const verify = ({ file, beside }: Signed) => verifyManifest(file, own, beside);
const foreign = ['signingCredential.untrusted: this service did not sign the manifest; check it with c2patool'];
const untrusted = 'signingCredential.untrusted';
/** c2pa-node has no program for other platforms. */
const independent = test.runIf(hasIndependentVerifier);

/** A copy with one bit changed at this offset, counted from the end if it is negative. */
function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at < 0 ? bytes.length + at : at]! ^= 1;
  return copy;
}

/** Changes one byte of the audio. A WAV ends with its manifest. */
const withOtherSound = ({ file, beside }: Signed, format: FormatName): Signed => ({
  file: flipped(file, format === 'wav' ? 1000 : -10),
  beside,
});

/** Changes one byte of the claim. */
function withOtherClaim({ file, beside }: Signed): Signed {
  const other = (bytes: Buffer) => flipped(bytes, bytes.indexOf('claim_generator_info') + 30);
  return beside ? { file, beside: other(beside) } : { file: other(file), beside };
}

test.each(formats)('%s: a manifest holds, and names its certificate', async (format) => {
  const signed = await sign(await plainFile(format), format, openSigner);
  expect(verify(signed)).toEqual({
    valid: true,
    problems: [],
    issuer: 'O=ACME, CN=Sonant self-signed',
    selfSigned: true,
  });
  expect(verify(withOtherSound(signed, format))?.problems).toEqual(['assertion.dataHash.mismatch']);
  expect(verify(withOtherClaim(signed))?.problems).toContain('claimSignature.mismatch');
});

independent.each(formats)('%s: the independent verifier agrees', async (format) => {
  const signed = await sign(await plainFile(format), format, openSigner);
  expect(await verifyIndependently(signed, format)).toMatchObject({ state: 'Valid', failures: [untrusted] });
  const louder = await verifyIndependently(withOtherSound(signed, format), format);
  expect(louder).toMatchObject({ state: 'Invalid' });
  expect(louder.failures).toContain('assertion.dataHash.mismatch');
  const claimed = await verifyIndependently(withOtherClaim(signed), format);
  expect(claimed).toMatchObject({ state: 'Invalid' });
  expect(claimed.failures).toContain('claimSignature.mismatch');
});

test.each(formats)('%s: a manifest by the certificate of somebody else, in our name, is not ours', async (format) => {
  const signed = await sign(await plainFile(format), format, createTestSigner());
  expect(verify(signed)).toEqual({ valid: false, problems: foreign, issuer: '', selfSigned: false });
});

test('our certificate in a manifest that somebody else signed does not make it ours', async () => {
  const [ours, theirs] = [await openSigner(), await createTestSigner()()];
  for (const chain of [ours.chain, [...theirs.chain, ...ours.chain]]) {
    const signed = await sign(await plainFile('wav'), 'wav', async () => ({ key: theirs.key, chain }));
    expect(verify(signed)?.problems).toEqual(['claimSignature.mismatch']);
  }
});

test('files that an earlier version has signed hold', () => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, 'earlier', name));
  const earlier = [new X509Certificate(read('certificate.pem')).raw];
  for (const name of ['signed.wav', 'signed.mp3', 'signed.flac'])
    expect(verifyManifest(read(name), earlier)?.problems).toEqual([]);
  expect(verifyManifest(read('signed.opus'), earlier, read('signed.c2pa'))?.problems).toEqual([]);
});

test('a changed or exchanged assertion is noticed', async () => {
  const { file, beside } = await sign(await plainFile('opus'), 'opus', openSigner);
  const at = beside!.indexOf('c2pa.actions.v2');
  expect(verifyManifest(file, own, flipped(beside!, at + 80))?.problems).toEqual(['assertion.hashedURI.mismatch']);
});

test('of a manifest with a wrong signature, nothing else is read', async () => {
  const { file, beside } = await sign(await plainFile('opus'), 'opus', openSigner);
  const broken = flipped(flipped(beside!, -1), beside!.indexOf('c2pa.actions.v2') + 80);
  expect(verifyManifest(Buffer.from(file.subarray(1)), own, broken)?.problems).toEqual(['claimSignature.mismatch']);
});

independent.each(formats)('%s: an expired certificate remains ours, and expired for others', async (format) => {
  const expired = createTestSigner('ACME', Date.now() - 60_000);
  const signed = await sign(await plainFile(format), format, expired);
  expect(verifyManifest(signed.file, await certificatesOf(expired), signed.beside)?.problems).toEqual([]);
  const { state, failures } = await verifyIndependently(signed, format);
  expect(state).toBe('Invalid');
  expect(failures).toContain('signingCredential.expired');
});

test('a changed byte anywhere in a manifest is noticed, except in its padding', async () => {
  const signed = await sign(await plainFile('opus'), 'opus', openSigner);
  const { beside } = signed;
  const unnoticed = [...beside!.keys()].filter((at) => {
    const report = verify({ ...signed, beside: flipped(beside!, at) });
    return report?.valid;
  });
  // Only the frame of the COSE structure and the name of one box are neither signed nor compared.
  expect(unnoticed.length).toBeLessThan(16);
});

test('a manifest that excludes audio from its hash does not hold', async () => {
  const { file } = await sign(await plainFile('wav'), 'wav', openSigner);
  const place = findPlace(file)!;
  const moved = Buffer.concat([file.subarray(0, place.start), randomBytes(0), file.subarray(place.start)]);
  expect(verifyManifest(moved, own)?.problems).toEqual([]);
  expect(verifyManifest(Buffer.concat([file, Buffer.alloc(1)]), own)?.problems).toEqual([
    'assertion.dataHash.mismatch',
  ]);
});

test('a WAV keeps its samples, and its RIFF contains the manifest', async () => {
  const plain = await plainFile('wav');
  const { file } = await sign(plain, 'wav', openSigner);
  expect(file.readUInt32LE(4)).toBe(file.length - 8);
  expect(readWavHeader(file).data).toEqual(readWavHeader(plain).data);
  expect(file.subarray(8, plain.length)).toEqual(plain.subarray(8));
});

test.each([3, 4])('an ID3v2.%i tag keeps its frames', async (version) => {
  const text = Buffer.from('\0a title', 'latin1');
  const size = Buffer.of(0, 0, 0, text.length);
  const frame = Buffer.concat([Buffer.from('TIT2'), size, Buffer.alloc(2), text]);
  const tag = Buffer.concat([Buffer.from('ID3'), Buffer.of(version, 0, 0, 0, 0, 0, frame.length), frame]);
  const { file } = await sign(Buffer.concat([tag, await encodeSilence('mp3', 24_000, 1)]), 'mp3', openSigner);
  expect(verifyManifest(file, own)?.problems).toEqual([]);
  const end = 10 + file.subarray(6, 10).reduce((sum, byte) => sum * 128 + byte, 0);
  expect(file.subarray(end - frame.length, end)).toEqual(frame);
  expect(file.readUInt16BE(end) & 0xffe0).toBe(0xffe0);
});

test('files without a manifest have none', async () => {
  for (const format of formats) expect(verifyManifest(await plainFile(format), own)).toBeUndefined();
  for (const bytes of [Buffer.alloc(0), Buffer.from('RIFF'), Buffer.from('ID3'), randomBytes(1000)])
    expect(verifyManifest(bytes, own)).toBeUndefined();
});

test.each(formats)('%s: a file cut anywhere is reported as faulty or as without a manifest', async (format) => {
  const { file, beside } = await sign(await plainFile(format), format, openSigner);
  const cut = beside ?? file;
  const place = beside ? { start: 0, length: beside.length } : findPlace(file)!;
  for (let length = 0; length < place.start + place.length; length += 7) {
    const part = cut.subarray(0, length);
    const report = beside ? verifyManifest(file, own, part) : verifyManifest(part, own);
    expect(report?.problems).not.toEqual([]);
  }
});

test('random bytes and huge lengths in a manifest are reported', () => {
  const file = Buffer.from('audio');
  const huge = Buffer.from('ffffffff6a756d62ffffffff6a756d64', 'hex');
  const nested = Array.from({ length: 200 }).reduce<Buffer>((inner) => box('jumb', inner), Buffer.alloc(0));
  const samples = [huge, nested, Buffer.alloc(100_000), Buffer.alloc(0), box('jumb', box('jumd'))];
  for (let i = 0; i < 200; i++) samples.push(randomBytes(i * 10));
  for (const bytes of samples) expect(verifyManifest(file, own, bytes)?.problems).toEqual(foreign);
});

test('bytes changed at random neither crash the verifier nor hold', async () => {
  const signed = await sign(await plainFile('opus'), 'opus', openSigner);
  for (let i = 0; i < 300; i++) {
    const bytes = Buffer.from(signed.beside!);
    for (const at of randomBytes(8)) bytes[(at * bytes.length) >> 8] = randomBytes(1)[0]!;
    expect(verifyManifest(signed.file, own, bytes)).toBeDefined();
  }
});
