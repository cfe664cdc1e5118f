// The frames of a FLAC file that the encoder wrote (flac/flac-encoder.ts). They declare no length, but every header is known,
// so a frame ends before the next header where its CRC holds.
import { crc16 } from '../flac/bit-writer.ts';
import { flacFrameSamplesAt, flacHeadBytes } from '../flac/flac-encoder.ts';
import { flacFrameHeader } from '../flac/flac-frame-header.ts';
import type { BookChapter } from './book.ts';
import { bytesAfter, wrongFile } from './chapter-bytes.ts';

export const frameCrcBytes = 2;

export interface FlacBlock {
  length: number;
  /** The frame without its header and CRC. */
  subframe: Uint8Array;
}

/** The frames of a chapter, in order, some at a time; it fails if they are not those of so many samples. */
export async function* flacBlocks(
  chapter: BookChapter,
  index: number,
  sampleRateHz: number,
): AsyncGenerator<FlacBlock[]> {
  const frameSamples = flacFrameSamplesAt(sampleRateHz);
  const count = Math.ceil(chapter.sampleCount / frameSamples);
  // A verbatim frame, and the head of the next.
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
  for await (const chunk of bytesAfter(chapter, { index, headBytes: flacHeadBytes })) {
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

/** Where the first frame of the bytes ends: before a next header, which chance may also put inside a frame. */
function endOf(bytes: Buffer, nextHeader: Uint8Array): number | undefined {
  for (let at = bytes.indexOf(nextHeader); at >= 0; at = bytes.indexOf(nextHeader, at + 1))
    if (holds(bytes.subarray(0, at))) return at;
  return undefined;
}

const holds = (frame: Buffer): boolean =>
  frame.length > frameCrcBytes &&
  crc16(frame.subarray(0, -frameCrcBytes)) === frame.readUInt16BE(frame.length - frameCrcBytes);
