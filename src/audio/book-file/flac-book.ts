// Joins FLAC chapters (RFC 9639) into one stream. The last frame of a chapter may be short, so the stream has blocks of
// variable length, and its frames are renumbered by sample. Only the last block of a stream may have fewer than 16
// samples; any other short block is joined with the next block. The header is big-endian, and each of its blocks begins
// with 1 bit: last | 7: type | 24: size:
//     "fLaC" | 0: STREAMINFO, with the total number of samples; fields that are still unknown are 0
//     4: comments with the chapters (tags.ts) | 6: the cover
import { crc16 } from '../flac/bit-writer.ts';
import { flacBlock, flacFrameSamplesAt, flacHead } from '../flac/flac-encoder.ts';
import { flacFrame, flacFrameHeader } from '../flac/flac-frame.ts';
import { join } from '../pcm.ts';
import { decodeRecording } from '../recording/recording.ts';
import { type BookChapter, type BookPart, bytesAfterHead, wrongFile } from './audio-book.ts';
import { pictureBlock, vorbisComments } from './tags.ts';

const frameCrcBytes = 2;

interface FlacBlock {
  length: number;
  /** The frame without its header and CRC. */
  subframe: Uint8Array;
}

/** Yields the frames of a chapter, several at a time. Fails if the frames do not match the chapter's `sampleCount`. */
async function* flacBlocks(chapter: BookChapter, index: number, sampleRateHz: number): AsyncGenerator<FlacBlock[]> {
  const frameSamples = flacFrameSamplesAt(sampleRateHz);
  const count = Math.ceil(chapter.sampleCount / frameSamples);
  // Upper bound for the size of a verbatim frame plus the header of the next frame.
  const frameBytesMax = 2 * frameSamples + 64;
  const lengthOf = (number: number) => Math.min(frameSamples, chapter.sampleCount - number * frameSamples);
  const headerOf = (number: number) => flacFrameHeader({ length: lengthOf(number), sampleRateHz, number });
  const toBlock = (frame: Buffer, number: number): FlacBlock => {
    const header = headerOf(number);
    if (!frame.subarray(0, header.length).equals(header) || !holds(frame))
      throw wrongFile(index, `has a damaged frame ${number + 1} of ${count}`);
    return { length: lengthOf(number), subframe: frame.subarray(header.length, -frameCrcBytes) };
  };
  let rest = Buffer.alloc(0);
  let number = 0;
  for await (const chunk of bytesAfterHead(chapter, { index })) {
    rest = Buffer.concat([rest, chunk]);
    const blocks: FlacBlock[] = [];
    while (number < count - 1) {
      const end = endOf(rest, headerOf(number + 1));
      if (end === undefined) break;
      blocks.push(toBlock(rest.subarray(0, end), number++));
      rest = rest.subarray(end);
    }
    if (rest.length > frameBytesMax) throw wrongFile(index, `has a damaged frame ${number + 1} of ${count}`);
    yield blocks;
  }
  if (count > 0) yield [toBlock(rest, number)];
  if (count === 0 ? rest.length > 0 : number < count - 1)
    throw wrongFile(index, `has ${number + 1} frames, not ${count}`);
}

/**
 * Returns the end of the first frame, or undefined if the frame is incomplete. A frame may contain bytes that look like
 * the next header, so the frame's CRC must match too.
 */
function endOf(bytes: Buffer, nextHeader: Uint8Array): number | undefined {
  for (let at = bytes.indexOf(nextHeader); at >= 0; at = bytes.indexOf(nextHeader, at + 1))
    if (holds(bytes.subarray(0, at))) return at;
  return undefined;
}

const holds = (frame: Buffer): boolean =>
  frame.length > frameCrcBytes &&
  crc16(frame.subarray(0, -frameCrcBytes)) === frame.readUInt16BE(frame.length - frameCrcBytes);

const blockSamplesMin = 16;
const blockType = { comments: 4, picture: 6 } as const;
/** The 16-bit value of 1.0 in the decoder's output. */
const fullScale = 32_767;

export async function* writeFlacBook(part: BookPart): AsyncGenerator<Uint8Array> {
  const { rateHz, chapters, plan } = part;
  yield headOf(part);
  const frameSamples = flacFrameSamplesAt(rateHz);
  let sampleNumber = 0;
  const frameOf = ({ length, subframe }: FlacBlock) => {
    const frame = renumbered({ length, subframe }, rateHz, sampleNumber);
    sampleNumber += length;
    return frame;
  };
  /** Samples of a block that is too short. They are joined with the next block. */
  let carried = new Int16Array(0);
  const write = async (block: FlacBlock): Promise<Uint8Array[]> => {
    if (carried.length === 0 && block.length >= blockSamplesMin) return [frameOf(block)];
    const samples = join(Int16Array, [carried, await decode(block, rateHz)]);
    carried = new Int16Array(0);
    if (samples.length >= blockSamplesMin) return [frameOf(encode(samples, rateHz))];
    carried = samples;
    return [];
  };
  for (const [index, chapter] of chapters.entries()) {
    for await (const blocks of flacBlocks(chapter, index, rateHz)) {
      const frames: Uint8Array[] = [];
      for (const block of blocks) frames.push(...(await write(block)));
      if (frames.length > 0) yield Buffer.concat(frames);
    }
    for (const length of silenceLengths(plan.frames[index]!.silence, frameSamples))
      for (const frame of await write(encode(new Int16Array(length), rateHz))) yield frame;
  }
  if (carried.length > 0) yield frameOf(encode(carried, rateHz));
}

function headOf({ rateHz, plan, marks, tags }: BookPart): Buffer {
  const frameSamples = flacFrameSamplesAt(rateHz);
  const info = Buffer.from(flacHead(rateHz, frameSamples));
  info[4] = 0;
  const lengths = [...blockLengths(plan.frames, frameSamples)];
  info.writeUInt16BE(Math.max(blockSamplesMin, Math.min(...lengths.slice(0, -1), frameSamples)), 8);
  info.writeUInt16BE(Math.max(blockSamplesMin, ...lengths), 10);
  info[21] = info[21]! | Math.floor(plan.sampleCount / 2 ** 32);
  info.writeUInt32BE(plan.sampleCount % 2 ** 32, 22);
  const { cover } = tags;
  const comments = flacBlock(blockType.comments, vorbisComments('Sonant', tags, marks), !cover);
  const pictures = cover ? [flacBlock(blockType.picture, pictureBlock(cover), true)] : [];
  return Buffer.concat([info, comments, ...pictures]);
}

function renumbered({ length, subframe }: FlacBlock, sampleRateHz: number, number: number): Uint8Array {
  const header = flacFrameHeader({ length, sampleRateHz, number, blocksVary: true });
  const frame = Buffer.alloc(header.length + subframe.length + frameCrcBytes);
  frame.set(header);
  frame.set(subframe, header.length);
  frame.writeUInt16BE(crc16(frame.subarray(0, -frameCrcBytes)), frame.length - frameCrcBytes);
  return frame;
}

const firstHeader = (length: number, sampleRateHz: number) => flacFrameHeader({ length, sampleRateHz, number: 0 });

function encode(samples: Int16Array, sampleRateHz: number): FlacBlock {
  const frame = flacFrame(samples, sampleRateHz, 0);
  const subframe = frame.subarray(firstHeader(samples.length, sampleRateHz).length, -frameCrcBytes);
  return { length: samples.length, subframe };
}

async function decode({ length, subframe }: FlacBlock, sampleRateHz: number): Promise<Int16Array> {
  const header = firstHeader(length, sampleRateHz);
  const frame = join(Uint8Array, [header, subframe, [0, 0]]);
  const crc = crc16(frame.subarray(0, -frameCrcBytes));
  frame.set([crc >> 8, crc & 0xff], frame.length - frameCrcBytes);
  const file = join(Uint8Array, [flacHead(sampleRateHz, flacFrameSamplesAt(sampleRateHz)), frame]);
  const { samples } = await decodeRecording(file, { secondsMax: 1 });
  if (samples.length !== length) throw new Error(`a frame of ${length} samples decodes to ${samples.length}`);
  return Int16Array.from(samples, (sample) => Math.max(Math.round(sample * fullScale), -fullScale - 1));
}

/** Block lengths of silence, one per frame. The last block includes a remainder that is too short for a block. */
function* silenceLengths(samples: number, frameSamples: number): Generator<number> {
  let left = samples;
  for (; left >= frameSamples + blockSamplesMin; left -= frameSamples) yield frameSamples;
  if (left > 0) yield left;
}

/** Yields some block lengths, among them the shortest and the longest: the first two, the last and the silence. */
function* blockLengths(plan: BookPart['plan']['frames'], frameSamples: number): Generator<number> {
  let carried = 0;
  for (const { sound, silence } of plan) {
    const whole = Math.floor(sound / frameSamples);
    const frames = [...Array(Math.min(whole, 2)).fill(frameSamples), sound % frameSamples];
    for (const length of [...frames, ...silenceLengths(silence, frameSamples)]) {
      carried += length;
      if (carried < blockSamplesMin) continue;
      yield carried;
      carried = 0;
    }
  }
  if (carried > 0) yield carried;
}
