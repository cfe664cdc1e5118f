// Tests the metadata in a book file: tags, cover, chapter tables and true lengths. Also covers files too large for 32
// bits, and invalid chapter files.
import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type BookTags, coverBytesMax } from '../../../src/audio/book-file/audio-book.ts';
import { writeBookFile } from '../../../src/audio/book-file/book-file.ts';
import { id3Tag } from '../../../src/audio/book-file/tags.ts';
import type { FormatName } from '../../../src/audio/formats.ts';
import { wavHeader } from '../../../src/audio/wav.ts';
import { readWavHeader } from '../../../src/audio/wav-reader.ts';
import { join as joined } from '../../../src/platform/pcm.ts';
import { isInstalled } from '../../programs.ts';
import { bookOf, makeChapters, probed } from './make-book.ts';

/** A noise picture that is larger than an Ogg page. */
const picture = ['-f', 'lavfi', '-i', "nullsrc=s=256x256,geq='random(1)*255:128:128'", '-frames:v', '1'];
const { stdout: png } = spawnSync('ffmpeg', ['-v', 'error', ...picture, '-f', 'image2pipe', '-c:v', 'png', 'pipe:1']);
const tags: BookTags = {
  title: 'Der Prozeß 審判',
  author: 'Franz Kafka',
  narrator: 'Echo',
  publisher: 'Die Schmiede',
  date: '1925-04-26',
  language: 'de-DE',
  cover: { contentType: 'image/png', bytes: png ?? new Uint8Array(100_000) },
};
const two = [
  { title: 'A', seconds: 0.4, gapSeconds: 0.2 },
  { title: 'B', seconds: 0.3, gapSeconds: 0 },
];

describe.skipIf(!isInstalled('ffprobe'))('ffprobe reads title, author, date, language and cover', () => {
  test.for(['mp3', 'opus', 'wav'] as const)('of %s', async (format) => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'sonant-book-'));
    const file = join(folder.path, `book.${format}`);
    writeFileSync(file, await bookOf(format, 24_000, await makeChapters(format, 24_000, two), tags));
    const { format: whole, streams } = probed(file);
    const read = Object.fromEntries(
      Object.entries(whole.tags ?? streams[0]!.tags!).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const isId3 = format === 'mp3';
    expect(read).toMatchObject({
      title: tags.title,
      artist: tags.author,
      date: isId3 ? '1925' : tags.date,
      language: isId3 ? 'deu' : tags.language,
    });
    expect(png.length).toBeGreaterThan(65_536);
    expect(streams.map(({ codec_name }) => codec_name)).toContain('png');
    expect(Number(whole.duration)).toBeCloseTo(0.9, 0);
  });
});

test('a table of ID3 lists more chapters than one has room for as tables', () => {
  const marks = Array.from({ length: 500 }, (_, i) => ({ title: `${i}`, startSeconds: i, endSeconds: i + 1 }));
  const tag = id3Tag({}, marks);
  const tables: { id: string; isRoot: boolean; entries: string[] }[] = [];
  let chapters = 0;
  for (let at = 10; at < tag.length; ) {
    const name = tag.toString('latin1', at, at + 4);
    const body = tag.subarray(at + 10, at + 10 + tag.readUInt32BE(at + 4));
    at += 10 + body.length;
    if (name === 'CHAP') chapters++;
    if (name !== 'CTOC') continue;
    const [id, rest] = [body.toString('latin1', 0, body.indexOf(0)), body.subarray(body.indexOf(0) + 1)];
    const entries = rest.toString('latin1', 2).split('\0').slice(0, -1);
    expect(entries.length).toBe(rest[1]);
    tables.push({ id, isRoot: (rest[0]! & 2) !== 0, entries });
  }
  expect(chapters).toBe(500);
  const [root, ...others] = tables;
  expect(root).toMatchObject({ isRoot: true, entries: others.map(({ id }) => id) });
  expect(others.flatMap(({ entries }) => entries)).toEqual(marks.map((_, i) => `chp${i}`));
});

test.each([24_000, 44_100])(
  'the LAME tag of an MP3 of %i Hz has its bit rate and the checksum of its frame',
  async (rateHz) => {
    const file = Buffer.from(await bookOf('mp3', rateHz, await makeChapters('mp3', rateHz, two)));
    const lame = file.indexOf('LAME3.100');
    const sync = file.lastIndexOf(Buffer.of(0xff), lame);
    const tag = file.subarray(sync, lame + 34);
    // CRC-16 with the polynomial 0x8005, bit by bit over the reflected message, as the tag's specification describes.
    let register = 0;
    for (const byte of tag)
      for (let bit = 0; bit < 8; bit++) {
        const isSet = ((register >> 15) ^ (byte >> bit)) & 1;
        register = ((register << 1) ^ (isSet ? 0x8005 : 0)) & 0xffff;
      }
    const reflected = Number.parseInt([...register.toString(2).padStart(16, '0')].reverse().join(''), 2);
    expect([file[lame + 20], file.readUInt16BE(lame + 34)]).toEqual([64, reflected]);
  },
);

test('a WAV above 4 GiB is an RF64 with its true sizes and its cues', async () => {
  const sampleRateHz = 48_000;
  const zeros = new Uint8Array(2 ** 24);
  const sampleCount = 2 ** 31;
  const [small] = await makeChapters('wav', sampleRateHz, [{ title: 'end', seconds: 0.1, gapSeconds: 0 }]);
  const huge = async function* () {
    yield wavHeader(sampleRateHz, Infinity);
    for (let left = sampleCount * 2; left > 0; left -= zeros.length) yield zeros;
  };
  const chapters = [{ title: 'huge', sampleCount, gapSampleCount: 0, file: huge }, small!];
  using folder = mkdtempDisposableSync(join(tmpdir(), 'sonant-book-'));
  const file = join(folder.path, 'book.wav');
  const handle = openSync(file, 'w');
  let at = 0;
  let head: Buffer | undefined;
  // The zeros are not written, which leaves a hole in the file.
  for await (const part of writeBookFile('wav', sampleRateHz, chapters, tags)) {
    head ??= Buffer.from(part);
    if (part.length !== zeros.length) writeSync(handle, part, 0, part.length, at);
    at += part.length;
  }
  const dataBytes = sampleCount * 2 + small!.sound.length * 2;
  expect(head!.toString('latin1', 0, 4)).toBe('RF64');
  expect(Number(head!.readBigUInt64LE(20))).toBe(at - 8);
  expect(readWavHeader(head!).data!.start).toBe(head!.length);
  expect(Number(head!.readBigUInt64LE(28))).toBe(dataBytes);
  if (!isInstalled('ffprobe')) return;
  const { chapters: marks, format } = probed(file);
  expect(marks.map(({ tags }) => tags!.title)).toEqual(['huge', 'end']);
  expect(Number(marks[1]!.start_time)).toBeCloseTo(sampleCount / sampleRateHz, 2);
  expect(Number(format.duration)).toBeCloseTo(dataBytes / 2 / sampleRateHz, 2);
});

describe('the file of a chapter that is not of its sound is refused', () => {
  const spoiled: Record<string, (bytes: Uint8Array) => Uint8Array> = {
    'cut off': (bytes) => bytes.subarray(0, bytes.length - 7),
    'too long': (bytes) => joined(Uint8Array, [bytes, bytes.subarray(-300)]),
    empty: () => new Uint8Array(0),
  };
  const changed = (bytes: Uint8Array) => bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 8 : byte));
  const cases = (['wav', 'pcm', 'mp3', 'opus', 'ulaw'] as const).flatMap((format) => [
    ...Object.entries(spoiled).map(([name, spoil]) => [format, name, spoil] as const),
    ...(format === 'opus' ? [[format, 'changed', changed] as const] : []),
  ]);
  test.for(cases)('%s: %s', async ([format, _, spoil]: (typeof cases)[number]) => {
    const chapters = await makeChapters(format as FormatName, 24_000, two);
    const bytes = spoil(chapters[0]!.bytes);
    const file = async function* () {
      yield bytes;
    };
    await expect(bookOf(format, 24_000, [{ ...chapters[0]!, file }, chapters[1]!])).rejects.toThrow(/chapter 1 /);
  });
});

test('chapters of a FLAC job of an earlier version are refused with advice', async () => {
  const joined = bookOf('flac', 24_000, await makeChapters('flac', 24_000, two));
  await expect(joined).rejects.toMatchObject({ reason: 'invalid_request', message: /one by one/ });
});

test('a cover that not every format has room for is refused', async () => {
  const bytes = new Uint8Array(coverBytesMax + 1);
  await expect(bookOf('mp3', 24_000, [], { cover: { contentType: 'image/png', bytes } })).rejects.toThrow(/cover/);
});
