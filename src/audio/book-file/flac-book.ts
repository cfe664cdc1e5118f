// Joins chapters of FLAC (RFC 9639) into one stream. The last frame of each chapter is short, so the stream has blocks of
// variable length, and its frames are renumbered by sample. A block of fewer than 16 samples, which only the end of a stream
// may have, is joined with what follows it. The head, big-endian, each block with 1 bit: last | 7: type | 24: size:
//     "fLaC" | 0: STREAMINFO, with the number of all samples, and 0 for what is not known before they are written
//     4: comments with the chapters (vorbis-comments.ts) | 6: the cover
import { crc16 } from '../flac/bit-writer.ts';
import { flacFrameSamplesAt, flacHead } from '../flac/flac-encoder.ts';
import { flacFrame } from '../flac/flac-frame.ts';
import { flacFrameHeader } from '../flac/flac-frame-header.ts';
import { join } from '../join.ts';
import { decodeRecording } from '../recording/recording.ts';
import type { BookPart } from './book-part.ts';
import { type FlacBlock, flacBlocks, frameCrcBytes } from './flac-frames.ts';
import { pictureBlock, vorbisComments } from './vorbis-comments.ts';

const blockSamplesMin = 16;
const blockType = { comments: 4, picture: 6 } as const;
const lastFlag = 0x80;
/** The decoder returns floats; 1.0 is this 16-bit value. */
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
  /** Samples too few for a block, which go before the next. */
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
  const comments = metadata(blockType.comments, vorbisComments('Sonant', tags, marks));
  const blocks = tags.cover ? [comments, metadata(blockType.picture, pictureBlock(tags.cover))] : [comments];
  const last = blocks.at(-1)!;
  last[0] = last[0]! | lastFlag;
  return Buffer.concat([info, ...blocks]);
}

function metadata(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(type * 2 ** 24 + body.length);
  return Buffer.concat([head, body]);
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

/** Blocks of a frame each; the last takes a remainder too short for a block. */
function* silenceLengths(samples: number, frameSamples: number): Generator<number> {
  let left = samples;
  for (; left >= frameSamples + blockSamplesMin; left -= frameSamples) yield frameSamples;
  if (left > 0) yield left;
}

/** Lengths of blocks, enough to find the shortest and the longest: of a chapter's frames the first two and the last. */
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
