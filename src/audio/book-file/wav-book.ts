// Joins chapters of WAV and of the formats without a header. After the samples of a WAV come its marks (Multimedia
// Programming Interface and Data Specifications 1.0), numbers little-endian, four bytes each:
//     "cue " | size | count | for each: number | place | "data" | 0 | 0 | place in samples
//     "LIST" | size | "adtl" | for each: "labl" | size | number | title, 0
//     "LIST" | size | "INFO" | for each: "INAM" or another | size | text, 0
//     "id3 " | size | an ID3 tag with the cover, and with the chapters where a place is beyond a cue
// Chunks are padded to an even length. A file above 4 GiB is an RF64 (EBU Tech 3306): sizes of FFFFFFFF and, after "WAVE":
//     "ds64" | 28 | 8: size of the file - 8 | 8: size of data | 8: samples | 0
import { audioFormats, type FormatName } from '../formats.ts';
import { wavHeadBytes, wavHeader } from '../wav.ts';
import { type BookPart, type BookTags, bytesAfter, type ChapterMark } from './audio-book.ts';
import { id3Tag } from './tags.ts';

const sizeIn64 = 0xffff_ffff;
/** The last position, in samples, that a cue can store. */
const placeMax = 2 ** 32 - 1;
const bytesPerSample = 2;
const silenceSamples = 32_768;

export async function* writeWavBook(part: BookPart): AsyncGenerator<Uint8Array> {
  const { rateHz, plan, marks, tags } = part;
  // The chapters are stored only once, because players that read both tags would show them twice.
  const areCues = marks.every(({ startSeconds }) => startSeconds * rateHz <= placeMax);
  const id3 = chunk('id3 ', id3Tag(tags, areCues ? [] : marks));
  const after = Buffer.concat([...(areCues ? cues(marks, rateHz) : []), ...info(tags), id3]);
  yield head(plan.sampleCount, rateHz, after.length);
  yield* writePlainBook('wav', part);
  yield after;
}

/** Yields the samples without a head. Formats that have no head cannot store marks. */
export async function* writePlainBook(
  format: FormatName,
  { sampleRateHz, chapters, plan }: BookPart,
): AsyncGenerator<Uint8Array> {
  const headBytes = audioFormats[format].headBytes ?? 0;
  const encoder = await audioFormats[format].openEncoder(sampleRateHz);
  const silence = encoder.encode(new Float32Array(silenceSamples)).subarray(headBytes);
  encoder.close();
  const sampleBytes = silence.length / silenceSamples;
  for (const [index, chapter] of chapters.entries()) {
    yield* bytesAfter(chapter, { index, headBytes, byteCount: chapter.sampleCount * sampleBytes });
    for (let left = plan.frames[index]!.silence; left > 0; left -= silenceSamples)
      yield silence.subarray(0, Math.min(left, silenceSamples) * sampleBytes);
  }
}

function head(sampleCount: number, rateHz: number, bytesAfterData: number): Uint8Array {
  const dataBytes = sampleCount * bytesPerSample;
  const plain = Buffer.from(wavHeader(rateHz, dataBytes));
  const riffBytes = wavHeadBytes - 8 + dataBytes + bytesAfterData;
  if (riffBytes < sizeIn64) {
    plain.writeUInt32LE(riffBytes, 4);
    return plain;
  }
  const sizes = Buffer.alloc(28);
  sizes.writeBigUInt64LE(BigInt(riffBytes + 8 + sizes.length), 0);
  sizes.writeBigUInt64LE(BigInt(dataBytes), 8);
  sizes.writeBigUInt64LE(BigInt(sampleCount), 16);
  plain.write('RF64', 'latin1');
  plain.writeUInt32LE(sizeIn64, 4);
  plain.writeUInt32LE(sizeIn64, 40);
  return Buffer.concat([plain.subarray(0, 12), chunk('ds64', sizes), plain.subarray(12)]);
}

function cues(marks: readonly ChapterMark[], rateHz: number): Buffer[] {
  if (marks.length === 0) return [];
  const points = marks.map(({ startSeconds }, i) => {
    const place = Math.round(startSeconds * rateHz);
    return Buffer.concat([number(i + 1), number(place), ascii('data'), number(0), number(0), number(place)]);
  });
  const labels = marks.map(({ title }, i) => chunk('labl', Buffer.concat([number(i + 1), text(title)])));
  return [
    chunk('cue ', Buffer.concat([number(points.length), ...points])),
    chunk('LIST', Buffer.concat([ascii('adtl'), ...labels])),
  ];
}

function info({ title, author, publisher, date, language }: BookTags): Buffer[] {
  const entries = Object.entries({ INAM: title, IART: author, IPUB: publisher, ICRD: date, ILNG: language });
  const chunks = entries.flatMap(([name, value]) => (value ? [chunk(name, text(value))] : []));
  return chunks.length > 0 ? [chunk('LIST', Buffer.concat([ascii('INFO'), ...chunks]))] : [];
}

const ascii = (name: string): Buffer => Buffer.from(name, 'latin1');
const text = (value: string): Buffer => Buffer.from(`${value.replaceAll('\0', '')}\0`);

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const chunk = (name: string, body: Buffer): Buffer =>
  Buffer.concat([ascii(name), number(body.length), body, Buffer.alloc(body.length % 2)]);
