// Decodes an uploaded recording (WAV, FLAC, MP3, Ogg Vorbis, Ogg Opus or Ogg FLAC) to mono at its own rate. The format
// is recognised by the first bytes; name and content type are ignored. Throws a RecordingFault if the file is
// incomplete, damaged, implausible or longer than `secondsMax`. A malicious file may take long, so decode in a thread
// that can be terminated.
import { sevenBitsAt } from '../origin.ts';
import { floatTag, pcmTag, readWavHeader, type WavData, type WavFormat } from '../wav-reader.ts';
import { oggPages, packetsOf, pageBody } from './ogg-pages.ts';
import { type Recording, RecordingFault, refuseOddShape, Track, unreadable } from './track.ts';

// Splits an MP3 (MPEG-1, 2 and 2.5 Audio Layer III; ISO/IEC 11172-3, 13818-3) into frames. Bits of a frame header:
//     11: all 1 | 2: version (3, 2, or 0 for 2.5) | 2: layer (1 is III) | 1 | 4: bit rate | 2: rate | 1: padded | 9
// A file may begin with ID3v2 tags ("ID3", 2: version, flags, 4 bytes of 7 bits: size) and end with other tags.
// The decoder loops forever on bytes that it cannot parse, so it receives only complete frames of one version and rate.

interface FrameHeader {
  bytes: number;
  /** Version and sample rate, which are the same in all frames of a file. */
  kind: number;
}

// Bit rates in kbit/s by the index in the header. 0 marks the free format and the reserved index: both unsupported.
const bitRates1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0];
const bitRates2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0];
const sampleRates1 = [44_100, 48_000, 32_000];
/** Divisor of the MPEG-1 sample rate, indexed by the version bits. */
const divisors = [4, 0, 2, 1];
const tagsAtEnd = ['TAG', 'APETAGEX', 'LYRICSBEGIN', 'ID3', '3DI'];

function frameHeader(file: Buffer, at: number): FrameHeader | undefined {
  if (at + 4 > file.length) return undefined;
  const head = file.readUInt32BE(at);
  const version = (head >>> 19) & 3;
  const divisor = divisors[version]!;
  const sampleRateHz = (sampleRates1[(head >>> 10) & 3] ?? 0) / divisor;
  const kbps = (version === 3 ? bitRates1 : bitRates2)[(head >>> 12) & 15]!;
  const isLayer3 = ((head >>> 17) & 3) === 1;
  if (head >>> 21 !== 0x7ff || divisor === 0 || !isLayer3 || sampleRateHz === 0 || kbps === 0) return undefined;
  const bytes = Math.floor(((version === 3 ? 144 : 72) * kbps * 1000) / sampleRateHz) + ((head >>> 9) & 1);
  return { bytes, kind: (head >>> 10) & 0x603 };
}

/** Returns the offset after ID3v2 tags and the zeros that some writers append. */
function skipTags(file: Buffer): number {
  let at = 0;
  while (at + 10 <= file.length && file.toString('latin1', at, at + 3) === 'ID3') {
    const hasFoot = (file[at + 5]! & 0x10) !== 0;
    at += 10 + sevenBitsAt(file, at + 6) + (hasFoot ? 10 : 0);
    while (file[at] === 0) at++;
  }
  return Math.min(at, file.length);
}

/** Whether a frame begins at this offset and another frame, a tag or the end of the file follows. */
function isMp3(file: Buffer, at: number): boolean {
  const first = frameHeader(file, at);
  if (!first) return false;
  const next = at + first.bytes;
  return next >= file.length - 4 || frameHeader(file, next)?.kind === first.kind || isTag(file, next);
}

/** Returns the complete frames. A truncated last frame is dropped. */
function* mp3Frames(file: Buffer, from: number): Generator<Buffer> {
  const kind = frameHeader(file, from)?.kind;
  for (let at = from; at < file.length && !isTag(file, at); ) {
    const head = frameHeader(file, at);
    if (!head || head.kind !== kind) {
      if (isPadding(file.subarray(at))) return;
      throw unreadable(`is damaged: no MP3 frame at byte ${at}`);
    }
    if (at + head.bytes > file.length) return;
    yield file.subarray(at, at + head.bytes);
    at += head.bytes;
  }
}

const isTag = (file: Buffer, at: number): boolean =>
  tagsAtEnd.some((name) => file.toString('latin1', at, at + name.length) === name);

/** Whether the rest of the file is only zeros, or shorter than a header. */
const isPadding = (rest: Buffer): boolean => rest.length < 4 || rest.every((byte) => byte === 0);

// Decodes the pages of an Ogg Opus file (RFC 7845) to samples at 48 kHz. The first packet is the header:
//      0 "OpusHead" | 8: version | channels | 2: samples to skip | 12 4: rate of the source | 16 2: gain | 18: family
//     19 streams | coupled streams | a stream for each channel: only if the family is not 0
// The second packet contains tags. The position of the last page may state that the audio ends within a packet.

const rateHz = 48_000;
const familyAt = 18;
/** Bytes of the header without the table of channels. */
const headBytes = 21;
/** The entry of a channel that is silent. */
const silent = 255;
const lastFlag = 4;
/** The position of a page on which no packet ends. */
const noPosition = 0xffff_ffff_ffff_ffffn;

/** Describes the channels. Headers that the decoder would not check are refused. */
function readShape(head: Buffer) {
  const channels = head[9]!;
  const shape = { channels, preSkip: head.readUInt16LE(10) };
  if (head[familyAt] === 0 && channels <= 2) return shape;
  const [streamCount = 0, coupledStreamCount = 0] = head.subarray(familyAt + 1);
  const channelMappingTable = [...head.subarray(headBytes, headBytes + channels)];
  const decoded = streamCount + coupledStreamCount;
  const isValid =
    head[familyAt] !== 0 &&
    streamCount > 0 &&
    coupledStreamCount <= streamCount &&
    decoded <= silent &&
    channelMappingTable.length === channels &&
    channelMappingTable.every((stream) => stream < decoded || stream === silent);
  if (!isValid) throw unreadable('is damaged: its Opus header is invalid');
  return { ...shape, streamCount, coupledStreamCount, channelMappingTable };
}

/** Opens a decoder whose input is the pages of the file, one at a time. */
async function openOpus(firstPage: Buffer) {
  const shape = readShape(pageBody(firstPage));
  const { OpusDecoder } = await import('opus-decoder');
  const decoder = new OpusDecoder(shape);
  let headers = 2;
  let begun: Buffer[] = [];
  /** Number of samples at 48 kHz before this page. */
  let position = shape.preSkip;
  return {
    ready: decoder.ready,
    decode(page: Buffer) {
      const { packets, rest } = packetsOf(page, begun);
      begun = rest;
      const audio = packets.slice(headers);
      headers -= packets.length - audio.length;
      const { channelData, errors } = decoder.decodeFrames(audio);
      const end = page.readBigUInt64LE(6);
      const isLast = (page[5]! & lastFlag) !== 0 && end !== noPosition;
      const kept = isLast ? Math.max(0, Number(end) - position) : undefined;
      if (end !== noPosition) position = Math.max(position, Number(end));
      return { channelData: channelData.map((samples) => samples.subarray(0, kept)), sampleRate: rateHz, errors };
    },
    free: () => decoder.free(),
  };
}

const infoEnd = 42;
const headBytesMax = 16;
/** Number of bytes to decode at a time. It is small, because a kilobyte may contain 13 s of eight silent channels. */
const pieceBytes = 1_024;

async function readFlac(file: Buffer, decoder: WasmDecoder, track: Track): Promise<void> {
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
  if (track.length < samples)
    throw unreadable(`is damaged or incomplete: only ${track.length} of ${samples} samples can be read`);
}

/** Returns the bytes after the metadata blocks, so that the decoder does not parse pictures and texts. */
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

const blockFrames = 16_384;

function readWav(file: Buffer, secondsMax: number, track: Track): void {
  const { format, data } = readWavHeader(file);
  if (format) refuseOtherFormat(format);
  if (!data) throw unreadable('is a WAV file that ends before its samples');
  if (!format) throw unreadable('is a WAV file without a format header');
  const { channels, sampleRateHz, bytesPerSample } = format;
  const bytes = samplesOf(file, data);
  const frameBytes = channels * bytesPerSample;
  const frames = Math.floor(bytes.length / frameBytes);
  // The duration is checked before any sample is read.
  if (frames > secondsMax * sampleRateHz)
    throw new RecordingFault('audio_too_long', `lasts more than ${secondsMax} seconds`);
  const read = sampleReader(bytes, format);
  for (let from = 0; from < frames; from += blockFrames) {
    const length = Math.min(blockFrames, frames - from);
    const block = Array.from({ length: channels }, (_, channel) =>
      Float32Array.from({ length }, (_, i) => read((from + i) * frameBytes + channel * bytesPerSample)),
    );
    track.add(block, sampleRateHz);
  }
}

function refuseOtherFormat({ tag, channels, sampleRateHz, bytesPerSample }: WavFormat): void {
  refuseOddShape(channels, sampleRateHz);
  const sizes = tag === pcmTag ? [1, 2, 3, 4] : tag === floatTag ? [4, 8] : [];
  if (sizes.length === 0)
    throw unreadable(`is a WAV file with an unsupported encoding (${tag}); send PCM or float samples`);
  if (!sizes.includes(bytesPerSample))
    throw unreadable(`is a WAV file with ${8 * bytesPerSample} bits per sample, which is not supported`);
}

function samplesOf(file: Buffer, { start, byteCount }: WavData): Buffer {
  const body = file.subarray(start);
  if (byteCount !== undefined && byteCount > body.length)
    throw unreadable(`is incomplete: it has ${body.length} of ${byteCount} bytes of audio`);
  return body.subarray(0, byteCount);
}

/** Returns a function that reads the sample at an offset. Samples with unused bits are aligned to the top bit. */
function sampleReader(data: Buffer, { tag, bytesPerSample }: WavFormat): (offset: number) => number {
  if (tag === floatTag) return bytesPerSample === 4 ? (at) => data.readFloatLE(at) : (at) => data.readDoubleLE(at);
  if (bytesPerSample === 1) return (at) => (data[at]! - 128) / 128;
  if (bytesPerSample === 2) return (at) => data.readInt16LE(at) / 2 ** 15;
  if (bytesPerSample === 3) return (at) => data.readIntLE(at, 3) / 2 ** 23;
  return (at) => data.readInt32LE(at) / 2 ** 31;
}

interface Decoded {
  channelData: readonly Float32Array[];
  sampleRate: number;
  errors: readonly { message: string }[];
}

/** The interface that mpg123-decoder and @wasm-audio-decoders share. */
interface WasmDecoder {
  readonly ready: Promise<void>;
  decode(bytes: Uint8Array): Decoded | Promise<Decoded>;
  flush?(): Promise<Decoded>;
  free(): void;
}

async function decodePieces(
  decoder: WasmDecoder,
  pieces: Iterable<Uint8Array<ArrayBufferLike>>,
  track: Track,
): Promise<void> {
  const take = ({ channelData, sampleRate, errors }: Decoded) => {
    if (errors[0]) throw new Error(errors[0].message);
    track.add(channelData, sampleRate);
  };
  try {
    await decoder.ready;
    for (const piece of pieces) take(await decoder.decode(piece));
    if (decoder.flush) take(await decoder.flush());
  } catch (error) {
    throw error instanceof RecordingFault ? error : unreadable('is damaged: it cannot be decoded', error);
  } finally {
    free(decoder);
  }
}

function free(decoder: WasmDecoder): void {
  try {
    decoder.free();
  } catch {
    // A decoder that trapped may also fail to free its memory, which is then garbage-collected.
  }
}

/** Largest accepted file: half a minute of two channels at 96 kHz and 24 bits, plus a reserve. */
export const recordingBytesMax = 25 * 2 ** 20;

const accepted = 'send WAV, FLAC, MP3, Ogg Vorbis or Ogg Opus';

/** Unsupported formats that are often sent, each with its identifying bytes and offset. Errors name the format. */
const others: readonly (readonly [name: string, at: number, bytes: string])[] = [
  ['an MP4 or M4A file', 4, 'ftyp'],
  ['a WebM or Matroska file', 0, '\x1a\x45\xdf\xa3'],
  ['an AIFF file', 0, 'FORM'],
  ['a CAF file', 0, 'caff'],
  ['an AMR file', 0, '#!AMR'],
  ['an AAC file', 0, '\xff\xf1'],
  ['an AAC file', 0, '\xff\xf9'],
  ['a WMA file', 0, '\x30\x26\xb2\x75'],
];

export async function decodeRecording(bytes: Uint8Array, { secondsMax }: { secondsMax: number }): Promise<Recording> {
  if (bytes.length > recordingBytesMax) throw unreadable(`is larger than ${recordingBytesMax / 2 ** 20} MiB`);
  if (bytes.length === 0) throw unreadable('is empty');
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const has = (at: number, text: string) => file.toString('latin1', at, at + text.length) === text;
  const track = new Track({ secondsMax });
  const start = skipTags(file);
  if (has(8, 'WAVE') && ['RIFF', 'RF64', 'BW64'].some((name) => has(0, name))) readWav(file, secondsMax, track);
  else if (has(start, 'fLaC')) await readFlac(file.subarray(start), await openFlac(), track);
  else if (has(0, 'OggS')) await readOgg(file, track);
  else if (isMp3(file, start)) await decodePieces(await openMp3(), mp3Frames(file, start), track);
  else {
    const known = others.find(([, at, text]) => has(at, text))?.[0];
    const what = known ? `is ${known}, which is not supported` : 'is not a known audio format';
    throw unreadable(`${what}; ${accepted}`);
  }
  return track.end();
}

async function readOgg(file: Buffer, track: Track): Promise<void> {
  const firstPage: Buffer = oggPages(file).next().value!;
  const head = pageBody(firstPage);
  const has = (text: string, lengthMin: number) =>
    head.length >= lengthMin && head.toString('latin1', 0, text.length) === text;
  // The rate is checked when the audio is decoded. Opus always has 48 kHz.
  const decode = async (channels: number, open: () => Promise<WasmDecoder>) => {
    refuseOddShape(channels, 48_000);
    await decodePieces(await open(), oggPages(file), track);
  };
  if (has('\x01vorbis', 30)) await decode(head[11]!, openVorbis);
  else if (has('OpusHead', 19)) await decode(head[9]!, () => openOpus(firstPage));
  else if (has('\x7fFLAC', 51)) await decode(((head[29]! >> 1) & 7) + 1, openFlac);
  else throw unreadable(`is an Ogg file with an unsupported codec; ${accepted}`);
}

const openMp3 = async (): Promise<WasmDecoder> => new (await import('mpg123-decoder')).MPEGDecoder();
const openFlac = async (): Promise<WasmDecoder> => new (await import('@wasm-audio-decoders/flac')).FLACDecoder();
const openVorbis = async (): Promise<WasmDecoder> =>
  new (await import('@wasm-audio-decoders/ogg-vorbis')).OggVorbisDecoder();
