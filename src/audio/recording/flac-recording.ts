// Decodes a whole FLAC file (RFC 9639), big-endian: metadata blocks, then frames, which declare no length:
//     "fLaC" | blocks: 1 bit: last | 7: type | 24: size | size bytes         the first is STREAMINFO, type 0:
//              2: samples a frame, least | 2: most | 3 | 3 | 20 bits: rate | 3: channels - 1 | 5: bits - 1 | 36: samples | 16
//     frames:  a header, which ends with its CRC-8 | a subframe a channel | CRC-16
// The decoder emits a frame once it finds the next header, and silently skips what it cannot parse. So the first header is
// appended after the last frame, and the decoded samples are counted.
import { refuseOddShape, type Track, unreadable } from './track.ts';
import { decodePieces, type WasmDecoder } from './wasm-decoder.ts';

const infoEnd = 42;
const headBytesMax = 16;
/** A kilobyte may hold 13 seconds of eight silent channels. */
const pieceBytes = 1_024;

export async function readFlac(file: Buffer, decoder: WasmDecoder, track: Track): Promise<void> {
  if (file.length < infoEnd || (file[4]! & 0x7f) !== 0) throw unreadable('is a FLAC file that ends before its samples');
  const rateAt = 18;
  refuseOddShape(((file[rateAt + 2]! >> 1) & 7) + 1, file.readUIntBE(rateAt, 3) >> 4);
  const samples = (file[rateAt + 3]! & 15) * 2 ** 32 + file.readUInt32BE(rateAt + 4);
  const frames = framesOf(file);
  const ending = Buffer.concat([frames.subarray(0, headBytesMax), Buffer.alloc(headBytesMax)]);
  const withoutFlush = {
    ready: decoder.ready,
    decode: (bytes: Uint8Array) => decoder.decode(bytes),
    free: () => decoder.free(),
  };
  await decodePieces(withoutFlush, inPieces([file.subarray(0, infoEnd), frames, ending]), track);
  if (track.length < samples) throw unreadable(`is damaged or cut off: ${track.length} of ${samples} samples are left`);
}

/** The bytes after the metadata blocks, so that the decoder does not parse pictures and texts. */
function framesOf(file: Buffer): Buffer {
  let at = 4;
  for (let isLast = false; !isLast; ) {
    if (at + 4 > file.length) throw unreadable('is a FLAC file that ends before its samples');
    isLast = file[at]! >> 7 === 1;
    at += 4 + file.readUIntBE(at + 1, 3);
  }
  return file.subarray(at);
}

function* inPieces(parts: readonly Buffer[]): Generator<Buffer> {
  for (const part of parts)
    for (let at = 0; at < part.length; at += pieceBytes) yield part.subarray(at, at + pieceBytes);
}
