// Encodes Opus (RFC 6716) in Ogg (RFC 7845) with libopus as WebAssembly: one channel, about 32 kbit/s, packets of 20
// ms. A page holds 0.2 s, so the output lags behind the input by up to 0.2 s. Numbers are little-endian;
// recording/ogg-pages.ts shows the layout of a page.
//     page 0  "OpusHead" | 1: 1 | 1: channel | 2: samples to skip | 4: rate of the input | 2: 0 | 1: 0
//     page 1  "OpusTags" | 4: length | name of the encoder | 4: number of comments | for each: 4: length | text
//     others  packets; position: samples up to the end of the page at 48 kHz, including samples to skip
// The position of the last page is the end of the audio, so that decoders drop the padding.

import { join } from '../platform/pcm.ts';
import type { Encoder } from './encoder.ts';
import { blocksOf, clamped } from './kernels.ts';
import { type Origin, originComments, vorbisBlock } from './origin.ts';
import { crcOf } from './recording/ogg-pages.ts';

const opusRateHz = 48_000;
const bitsPerSecond = 32_000;
/** Effort from 0 to 10. A higher value doubles the time and does not make speech sound better. */
const complexity = 5;
const packetsPerSecond = 50;
const packetsPerPage = 10;
export const oggFlags = { continued: 1, first: 2, last: 4 } as const;
/** Serial number of the Ogg stream. A fixed number gives the same bytes for the same audio. */
const streamNumber = 0x534e_5431;

export const opusBytesPerSecond = (bitsPerSecond / 8) * 1.06;

/** Returns the encoder's sample rate for the rate of a response. */
export const toOpusRateHz = (sampleRateHz: number) => (sampleRateHz === 24_000 ? 24_000 : opusRateHz);

/** Writes `sampleRateHz` to the file as the input rate, but accepts samples at `toOpusRateHz(sampleRateHz)`. */
export async function openOggOpusEncoder(sampleRateHz: number, origin?: Origin): Promise<Encoder> {
  const { createEncoder, loadLibopus } = await import('libopus-wasm');
  const { version } = await loadLibopus();
  const rateHz = toOpusRateHz(sampleRateHz);
  // The voice mode of Opus would attenuate low frequencies by up to 0.3 dB and take three times the CPU time.
  const opus = await createEncoder({ channels: 1, sampleRate: rateHz, bitrate: bitsPerSecond, complexity });
  const lookahead = opus.getLookahead();
  const toOpusSamples = (samples: number) => (samples * opusRateHz) / rateHz;
  const packetSamples = rateHz / packetsPerSecond;
  const pages = createOggPages();
  /** The packet that is being filled. */
  const frame = new Float32Array(packetSamples);
  let filled = 0;
  let packets: Uint8Array[] = [];
  let packetCount = 0;
  let sampleCount = 0;
  let hasBegun = false;

  const begin = () => {
    if (hasBegun) return [];
    hasBegun = true;
    const head = opusHead(sampleRateHz, toOpusSamples(lookahead));
    return [
      pages.next({ packets: [head], position: 0, flag: oggFlags.first }),
      pages.next({ packets: [opusTags(version, origin)], position: 0 }),
    ];
  };
  const nextPage = () => {
    const page = pages.next({ packets, position: packetCount * (opusRateHz / packetsPerSecond) });
    packets = [];
    return page;
  };
  /**
   * Encodes samples. Returns only full pages, except at the end of the file. The first result also has the headers.
   */
  const write = (samples: Float32Array, isEnd: boolean) => {
    const out: Uint8Array[] = [];
    for (let from = 0; from < samples.length; ) {
      const taken = samples.subarray(from, from + packetSamples - filled);
      frame.set(taken, filled);
      filled += taken.length;
      from += taken.length;
      if (filled < packetSamples) break;
      filled = 0;
      packets.push(opus.encodeFloat(frame));
      packetCount++;
      const isLast = isEnd && from === samples.length;
      if (packets.length < packetsPerPage || isLast) continue;
      out.push(...begin(), nextPage());
    }
    return out;
  };

  return {
    encode(samples) {
      sampleCount += samples.length;
      return join(Uint8Array, Array.from(blocksOf(samples), ([block]) => write(clamped(block), false)).flat());
    },
    flush: () => (packets.length === 0 ? nothing : join(Uint8Array, [...begin(), nextPage()])),
    end() {
      // Silence flushes the samples that are buffered in the encoder. The lookahead is never 0.
      const silence = packetSamples - ((filled + lookahead) % packetSamples || packetSamples);
      const out = write(new Float32Array(lookahead + silence), true);
      const position = toOpusSamples(lookahead + sampleCount);
      out.push(...begin(), pages.next({ packets, position, flag: oggFlags.last }));
      opus.free();
      return join(Uint8Array, out);
    },
    close: () => opus.free(),
  };
}

const nothing = new Uint8Array();
const pageSizesMax = 255;
/** Lacing values of a packet: 255 for each complete 255 bytes, then the remainder. */
const sizesOf = ({ length }: Uint8Array): number[] => [...Array(Math.floor(length / 255)).fill(255), length % 255];

interface Page {
  packets: readonly Uint8Array[];
  position: number;
  flag?: number;
}

/** Numbers pages and writes them. */
export function createOggPages() {
  let number = 0;
  const pageOf = (sizes: readonly number[], body: readonly Uint8Array[], position: number, flag: number): Buffer => {
    const head = Buffer.alloc(27);
    head.write('OggS');
    head[5] = flag;
    head.writeBigInt64LE(BigInt(position), 6);
    head.writeUInt32LE(streamNumber, 14);
    head.writeUInt32LE(number++, 18);
    head[26] = sizes.length;
    const page = Buffer.concat([head, Buffer.from(sizes), ...body]);
    page.writeUInt32LE(crcOf(page), 22);
    return page;
  };
  return {
    next: ({ packets, position, flag = 0 }: Page): Buffer => pageOf(packets.flatMap(sizesOf), packets, position, flag),
    /** Writes a header packet, on several pages if necessary. Only the page where the packet ends has a position. */
    *spread(packet: Uint8Array): Generator<Buffer> {
      const sizes = sizesOf(packet);
      for (let at = 0; at < sizes.length; at += pageSizesMax) {
        const some = sizes.slice(at, at + pageSizesMax);
        const isLast = at + pageSizesMax >= sizes.length;
        const body = packet.subarray(at * 255, (at + pageSizesMax) * 255);
        yield pageOf(some, [body], isLast ? 0 : -1, at > 0 ? oggFlags.continued : 0);
      }
    },
  };
}

function opusHead(sampleRateHz: number, skipped: number): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead\x01\x01', 'latin1');
  head.writeUInt16LE(skipped, 10);
  head.writeUInt32LE(sampleRateHz, 12);
  return head;
}

const opusTags = (encoder: string, origin: Origin | undefined): Buffer =>
  Buffer.concat([Buffer.from('OpusTags'), vorbisBlock(encoder, origin ? originComments(origin) : [])]);
