// Decodes an uploaded recording (WAV, FLAC, MP3, Ogg Vorbis, Ogg Opus or Ogg FLAC) to mono at its own rate. The format
// is recognised by the first bytes; name and content type are ignored. Throws a RecordingFault if the file is
// incomplete, damaged, implausible or longer than `secondsMax`. A malicious file may take long, so decode in a thread
// that can be terminated.
import { floatTag, pcmTag, readWavHeader, type WavData, type WavFormat } from '../wav-reader.ts';
import { isMp3, mp3Frames, skipTags } from './mp3-frames.ts';
import { oggPages, pageBody } from './ogg-pages.ts';
import { openOpus } from './opus-recording.ts';
import { type Recording, RecordingFault, refuseOddShape, Track, unreadable } from './track.ts';

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
