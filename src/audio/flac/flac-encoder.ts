// Encodes FLAC (RFC 9639): one channel of 16 bits, about a third of the size of WAV. Implemented here because the
// WebAssembly encoders on npm do not load in Node 24. Numbers are big-endian:
//      0 "fLaC" | 1: 0, STREAMINFO, or 0x80 if it is the last block | 3: 34, its length
//      8 2: samples a frame, min | 2: max | 3: bytes a frame, min | 3: max
//     18 20 bits: samples a second | 3: channels - 1 | 5: bits - 1 | 36: samples | 16 bytes: MD5 of them, little-endian
//     42 1: 0x84, the last block: Vorbis comments | 3: its length | comments      only if the file states its origin
//        frames
// A stream's sizes are 0, which means unknown. The header of a complete file has the true sizes.
import { createHash } from 'node:crypto';
import { join } from '../../platform/pcm.ts';
import type { Encoder } from '../encoder.ts';
import { toInt16 } from '../level.ts';
import { type Origin, originComments, vorbisBlock } from '../origin.ts';
import { flacFrame } from './flac-frame.ts';

const flacHeadBytes = 42;
const samplesMax = 2 ** 36;

/** Each frame lasts under a tenth of a second. */
const flacFrameSamplesAt = (sampleRateHz: number): number => (sampleRateHz > 32_000 ? 4096 : 2048);

export function createFlacEncoder(sampleRateHz: number, origin?: Origin): Encoder {
  const frameSamples = flacFrameSamplesAt(sampleRateHz);
  const comments = origin ? commentsBlock(vorbisBlock('Sonant', originComments(origin))) : new Uint8Array();
  const streamHead = () => {
    const head = flacHead(sampleRateHz, frameSamples);
    if (origin) head[4] = 0;
    return head;
  };
  const sums = { samples: 0, bytesMin: Infinity, bytesMax: 0, md5: createHash('md5') };
  /** The frame that is being filled. */
  const frame = new Int16Array(frameSamples);
  let filled = 0;
  let frameNumber = 0;
  let hasBegun = false;

  const frameOf = (samples: Int16Array) => {
    const bytes = flacFrame(samples, sampleRateHz, frameNumber++);
    sums.bytesMin = Math.min(sums.bytesMin, bytes.length);
    sums.bytesMax = Math.max(sums.bytesMax, bytes.length);
    return bytes;
  };
  /** Joins frames. Puts the header before the first frame of the stream. */
  const joined = (frames: readonly Uint8Array[], isEnd = false) => {
    if (hasBegun || (frames.length === 0 && !isEnd)) return join(Uint8Array, frames);
    hasBegun = true;
    return join(Uint8Array, [streamHead(), comments, ...frames]);
  };

  return {
    encode(samples) {
      const fresh = toInt16(samples);
      sums.samples += fresh.length;
      sums.md5.update(fresh);
      const frames: Uint8Array[] = [];
      for (let from = 0; from < fresh.length; ) {
        const taken = fresh.subarray(from, from + frameSamples - filled);
        frame.set(taken, filled);
        filled += taken.length;
        from += taken.length;
        if (filled < frameSamples) break;
        filled = 0;
        frames.push(frameOf(frame));
      }
      return joined(frames);
    },
    end: () => joined(filled > 0 ? [frameOf(frame.subarray(0, filled))] : [], true),
    head() {
      const { samples, bytesMin, bytesMax, md5 } = sums;
      const sealed = streamHead();
      const view = new DataView(sealed.buffer);
      view.setUint32(12, ((samples > 0 ? bytesMin : 0) << 8) | (bytesMax >> 16));
      view.setUint16(16, bytesMax & 0xffff);
      if (samples < samplesMax) {
        sealed[21] = sealed[21]! | Math.floor(samples / 2 ** 32);
        view.setUint32(22, samples % 2 ** 32);
      }
      sealed.set(md5.copy().digest(), 26);
      return sealed;
    },
    close() {},
  };
}

/** Returns the header of a stream. Fields that are unknown before its end are 0. */
function flacHead(sampleRateHz: number, frameSamples: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(flacHeadBytes);
  bytes.set(Buffer.from('fLaC\x80\0\0\x22', 'latin1'));
  const view = new DataView(bytes.buffer);
  view.setUint16(8, frameSamples);
  view.setUint16(10, frameSamples);
  view.setUint32(18, (sampleRateHz << 12) | (15 << 4));
  return bytes;
}

/** Returns the last metadata block: 1: 0x84 | 3: size | Vorbis comments. */
function commentsBlock(comments: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(0x84 * 2 ** 24 + comments.length);
  return Buffer.concat([head, comments]);
}
