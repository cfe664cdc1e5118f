// Decodes an uploaded recording (WAV, FLAC, MP3, Ogg Vorbis, Ogg Opus or Ogg FLAC) to mono at its own rate. The kind is
// recognised by the first bytes; name and content type are ignored. Nothing in the file is trusted: a file that is
// incomplete, damaged or implausible is a RecordingFault, and at most `secondsMax` are decoded. A malicious file may still
// take long: run this in a thread that can be terminated. Decoders are loaded on first use.
import { readFlac } from './flac-recording.ts';
import { isMp3, mp3Frames, skipTags } from './mp3-frames.ts';
import { oggPages, pageBody } from './ogg-pages.ts';
import { type Recording, refuseOddShape, Track, unreadable } from './track.ts';
import { decodePieces, type WasmDecoder } from './wasm-decoder.ts';
import { readWav } from './wav-recording.ts';

/** Half a minute of two channels at 96 kHz and 24 bits, and some more. */
export const recordingBytesMax = 25 * 2 ** 20;

const accepted = 'send WAV, FLAC, MP3, Ogg Vorbis or Ogg Opus';

/** Kinds that are often sent but not supported, so that the message can name them: bytes at an offset. */
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
    const what = known ? `is ${known}, which is not read here` : 'is no recording that is known here';
    throw unreadable(`${what}; ${accepted}`);
  }
  return track.end();
}

async function readOgg(file: Buffer, track: Track): Promise<void> {
  const head = pageBody(oggPages(file).next().value!);
  const has = (text: string, lengthMin: number) =>
    head.length >= lengthMin && head.toString('latin1', 0, text.length) === text;
  // The rate is checked when the sound is decoded; Opus always has 48 kHz.
  const decode = async (channels: number, open: () => Promise<WasmDecoder>) => {
    refuseOddShape(channels, 48_000);
    await decodePieces(await open(), oggPages(file), track);
  };
  if (has('\x01vorbis', 30)) await decode(head[11]!, openVorbis);
  else if (has('OpusHead', 19)) await decode(head[9]!, openOpus);
  else if (has('\x7fFLAC', 51)) await decode(((head[29]! >> 1) & 7) + 1, openFlac);
  else throw unreadable(`is an Ogg file of a kind that is not read here; ${accepted}`);
}

const openMp3 = async (): Promise<WasmDecoder> => new (await import('mpg123-decoder')).MPEGDecoder();
const openFlac = async (): Promise<WasmDecoder> => new (await import('@wasm-audio-decoders/flac')).FLACDecoder();
const openOpus = async (): Promise<WasmDecoder> => new (await import('ogg-opus-decoder')).OggOpusDecoder();
const openVorbis = async (): Promise<WasmDecoder> =>
  new (await import('@wasm-audio-decoders/ogg-vorbis')).OggVorbisDecoder();
