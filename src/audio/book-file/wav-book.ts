// Joins chapters in WAV or in a format without a header. A WAV file has tags before the samples and marks after the
// samples (Multimedia Programming Interface and Data Specifications 1.0). Numbers are little-endian, with four bytes:
//     "LIST" | size | "INFO" | for each tag: "INAM" or another name | size | text, 0
//     "data" | size | samples
//     "cue " | size | count | for each mark: number | position | "data" | 0 | 0 | position in samples
//     "LIST" | size | "adtl" | for each mark: "labl" | size | number | title, 0
//     "id3 " | size | an ID3 tag with the cover, and with the chapters if a position is too large for a cue
// Chunks are padded to an even length. A file above 4 GiB is an RF64 (EBU Tech 3306): its sizes are FFFFFFFF, and this
// chunk follows "WAVE":
//     "ds64" | 28 | 8: size of the file - 8 | 8: size of data | 8: samples | 0
import { audioFormats, type FormatName } from '../formats.ts';
import { ascii, number, originInfo } from '../origin.ts';
import { wavChunk, wavHeader, wavInfo, wavText } from '../wav.ts';
import { type BookPart, type BookTags, bytesAfterHead, type ChapterMark } from './audio-book.ts';
import { id3Tag } from './tags.ts';

const sizeIn64 = 0xffff_ffff;
/** The last position, in samples, that a cue can store. */
const placeMax = 2 ** 32 - 1;
const bytesPerSample = 2;
const silenceSamples = 32_768;

export async function* writeWavBook(part: BookPart): AsyncGenerator<Uint8Array> {
  const { rateHz, plan, marks, tags } = part;
  // The chapters are stored only once, because players that read both cues and ID3 would show them twice.
  const areCues = marks.every(({ startSeconds }) => startSeconds * rateHz <= placeMax);
  const id3 = wavChunk('id3 ', id3Tag(tags, areCues ? [] : marks));
  const after = Buffer.concat([...(areCues ? cues(marks, rateHz) : []), id3]);
  yield head(plan.sampleCount, rateHz, infoOf(tags), after.length);
  yield* writePlainBook('wav', part);
  yield after;
}

/** Yields the samples without a header. Formats that have no header cannot store marks. */
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
    yield* bytesAfterHead(chapter, { index, byteCount: chapter.sampleCount * sampleBytes });
    for (let left = plan.frames[index]!.silence; left > 0; left -= silenceSamples)
      yield silence.subarray(0, Math.min(left, silenceSamples) * sampleBytes);
  }
}

function head(sampleCount: number, rateHz: number, info: Buffer, bytesAfterData: number): Uint8Array {
  const dataBytes = sampleCount * bytesPerSample;
  const plain = Buffer.from(wavHeader(rateHz, dataBytes, info));
  const riffBytes = plain.length - 8 + dataBytes + bytesAfterData;
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
  plain.writeUInt32LE(sizeIn64, plain.length - 4);
  return Buffer.concat([plain.subarray(0, 12), wavChunk('ds64', sizes), plain.subarray(12)]);
}

function cues(marks: readonly ChapterMark[], rateHz: number): Buffer[] {
  if (marks.length === 0) return [];
  const points = marks.map(({ startSeconds }, i) => {
    const place = Math.round(startSeconds * rateHz);
    return Buffer.concat([number(i + 1), number(place), ascii('data'), number(0), number(0), number(place)]);
  });
  const labels = marks.map(({ title }, i) => wavChunk('labl', Buffer.concat([number(i + 1), wavText(title)])));
  return [
    wavChunk('cue ', Buffer.concat([number(points.length), ...points])),
    wavChunk('LIST', Buffer.concat([ascii('adtl'), ...labels])),
  ];
}

const infoOf = ({ title, author, publisher, date, language, origin }: BookTags): Buffer =>
  wavInfo([
    ...(origin ? originInfo(origin) : []),
    ...Object.entries({ INAM: title, IART: author, IPUB: publisher, ICRD: date, ILNG: language }),
  ]);
