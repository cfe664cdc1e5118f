// Joins MP3 chapters: an ID3 tag with the chapters, an information frame with the length and the samples to skip, and
// then the unchanged frames of the chapters. The first frame of a chapter does not refer to earlier frames, and its
// last frames are silent, so seams are inaudible. The information frame begins with the header and side information of
// a silent frame. These big-endian fields follow, with sizes in bytes:
//     "Info" | 4: 15, all fields | 4: frames | 4: bytes | 100: offset at each percent of time, in 1/256 | 4: quality
//     "LAME3.100" | 1: constant rate | 10: 0 | 1: kbit/s | 12 bits: samples to skip at the start | 12 bits: at the end
//     4: 0 | 4: bytes | 2: 0, no CRC of the frames | 2: CRC of this frame up to here, polynomial 0x8005, reflected
import { type BookPart, type BookPlan, bytesAfterHead } from './audio-book.ts';
import { id3Tag } from './tags.ts';

const bitsPerSecond = 64_000;
/** Lower rates use MPEG-2, with half as many samples per frame. */
const mpeg1RateMinHz = 32_000;
const mp3HeaderBytes = 4;
/** LAME's delay before the audio and minimum padding after the audio, in samples. */
const mp3EncoderDelay = 576;
const paddingMin = 576;

const isMpeg1 = (sampleRateHz: number): boolean => sampleRateHz >= mpeg1RateMinHz;

export const mp3FrameSamples = (sampleRateHz: number): number => (isMpeg1(sampleRateHz) ? 1152 : 576);

/** Number of frames that LAME writes for `sampleCount` samples. */
export const mp3FrameCount = (sampleCount: number, sampleRateHz: number): number =>
  Math.ceil((sampleCount + mp3EncoderDelay + paddingMin) / mp3FrameSamples(sampleRateHz));

/** Size of the first `count` frames of a file. At 44.1 kHz most frames are one byte longer than the first frame. */
function mp3FrameBytes(count: number, sampleRateHz: number): number {
  const bitsPerFrame = (mp3FrameSamples(sampleRateHz) / 8) * bitsPerSecond;
  const rest = bitsPerFrame % sampleRateHz;
  return count * Math.floor(bitsPerFrame / sampleRateHz) + Math.ceil((Math.max(0, count - 1) * rest) / sampleRateHz);
}

const mp3SideBytes = (sampleRateHz: number): number => (isMpeg1(sampleRateHz) ? 17 : 9);

/** Returns a silent, unpadded frame, like the first frame of the encoder. */
function mp3SilentFrame(sampleRateHz: number): Buffer {
  const frame = Buffer.alloc(mp3FrameBytes(1, sampleRateHz));
  const version = isMpeg1(sampleRateHz) ? 3 : 2;
  const bitRateIndex = isMpeg1(sampleRateHz) ? 5 : 8;
  const rateIndex = { 24000: 1, 44100: 0, 48000: 1 }[sampleRateHz]!;
  frame.writeUInt32BE(
    ((0x7ff << 21) | (version << 19) | (1 << 17) | (1 << 16) | (bitRateIndex << 12) | (rateIndex << 10) | 0xc4) >>> 0,
  );
  return frame;
}

const tocEntries = 100;
/** Number of silent frames that are written at once. */
const silenceFramesMax = 500;

export async function* writeMp3Book({ rateHz, chapters, plan, marks, tags }: BookPart): AsyncGenerator<Uint8Array> {
  const silent = mp3SilentFrame(rateHz);
  yield id3Tag(tags, marks);
  yield infoFrame(plan, rateHz);
  for (const [index, chapter] of chapters.entries()) {
    const { sound, silence } = plan.frames[index]!;
    yield* bytesAfterHead(chapter, { index, byteCount: mp3FrameBytes(sound, rateHz) });
    for (let left = silence; left > 0; left -= silenceFramesMax)
      yield Buffer.alloc(Math.min(left, silenceFramesMax) * silent.length, silent);
  }
}

function infoFrame(plan: BookPlan, rateHz: number): Buffer {
  const silentBytes = mp3FrameBytes(1, rateHz);
  const frame = mp3SilentFrame(rateHz);
  const places = placesOf(plan, rateHz, silentBytes);
  const { frames, bytes } = places.at(-1)!;
  const total = frame.length + bytes;
  const at = mp3HeaderBytes + mp3SideBytes(rateHz);
  frame.write('Info\0\0\0\x0f', at, 'latin1');
  frame.writeUInt32BE(frames, at + 8);
  frame.writeUInt32BE(total, at + 12);
  for (let i = 0; i < tocEntries; i++) {
    const place = frame.length + byteAt(places, (i * frames) / tocEntries);
    frame[at + 16 + i] = Math.min(255, Math.floor((256 * place) / total));
  }
  const lame = at + 120;
  frame.write('LAME3.100\x01', lame, 'latin1');
  frame[lame + 20] = bitsPerSecond / 1000;
  const padding = frames * mp3FrameSamples(rateHz) - mp3EncoderDelay - plan.sampleCount;
  frame.writeUIntBE(mp3EncoderDelay * 4096 + padding, lame + 21, 3);
  frame.writeUInt32BE(total, lame + 28);
  frame.writeUInt16BE(crcOf(frame.subarray(0, lame + 34)), lame + 34);
  return frame;
}

interface Place {
  frames: number;
  bytes: number;
}

/** Numbers of frames and bytes before each chapter, before each silence, and in total. */
function placesOf({ frames }: BookPlan, rateHz: number, silentBytes: number): Place[] {
  const places: Place[] = [{ frames: 0, bytes: 0 }];
  for (const { sound, silence } of frames) {
    const { frames, bytes } = places.at(-1)!;
    const soundEnd = { frames: frames + sound, bytes: bytes + mp3FrameBytes(sound, rateHz) };
    places.push(soundEnd, { frames: soundEnd.frames + silence, bytes: soundEnd.bytes + silence * silentBytes });
  }
  return places;
}

function byteAt(places: readonly Place[], frame: number): number {
  const next = Math.max(
    1,
    places.findIndex(({ frames }) => frames > frame),
  );
  const [before, after] = [places[next - 1]!, places[next] ?? places.at(-1)!];
  const share = (frame - before.frames) / Math.max(1, after.frames - before.frames);
  return before.bytes + share * (after.bytes - before.bytes);
}

function crcOf(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xa001 : crc >>> 1;
  }
  return crc;
}
