// Decodes an uploaded recording (WAV, FLAC, MP3, Ogg Vorbis, Ogg Opus or Ogg FLAC, recognised by its bytes) to mono at its
// own rate. Nothing in the file is trusted: a file that is incomplete, damaged or implausible is a RecordingFault, and at
// most `secondsMax` are decoded. A malicious file may still take long: run this in a thread that can be terminated.
// Decoders are loaded on first use.
import { readFlac } from './flac-recording.ts';
import { mp3Frames } from './mp3-frames.ts';
import { oggPages, pageBody } from './ogg-pages.ts';
import { recognise } from './recording-kind.ts';
import { type Recording, refuseOddShape, Track, unreadable } from './track.ts';
import { decodePieces, type WasmDecoder } from './wasm-decoder.ts';
import { readWav } from './wav-recording.ts';

/** Half a minute of two channels at 96 kHz and 24 bits, and some more. */
export const recordingBytesMax = 25 * 2 ** 20;

export async function decodeRecording(bytes: Uint8Array, { secondsMax }: { secondsMax: number }): Promise<Recording> {
  if (bytes.length > recordingBytesMax) throw unreadable(`is larger than ${recordingBytesMax / 2 ** 20} MiB`);
  if (bytes.length === 0) throw unreadable('is empty');
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const track = new Track({ secondsMax });
  const { kind, start } = recognise(file);
  if (kind === 'wav') readWav(file, secondsMax, track);
  else if (kind === 'mp3') await decodePieces(await openMp3(), mp3Frames(file, start), track);
  else if (kind === 'flac') await readFlac(file.subarray(start), await openFlac(), track);
  else await readOgg(file, kind, track);
  return track.end();
}

async function readOgg(file: Buffer, kind: 'vorbis' | 'opus' | 'oggFlac', track: Track): Promise<void> {
  const pages = oggPages(file);
  const head = pageBody(pages.next().value!);
  const channels = kind === 'oggFlac' ? ((head[29]! >> 1) & 7) + 1 : head[kind === 'opus' ? 9 : 11]!;
  // The rate is checked when the sound is decoded; Opus always has 48 kHz.
  refuseOddShape(channels, 48_000);
  const open = { vorbis: openVorbis, opus: openOpus, oggFlac: openFlac }[kind];
  await decodePieces(await open(), oggPages(file), track);
}

const openMp3 = async (): Promise<WasmDecoder> => new (await import('mpg123-decoder')).MPEGDecoder();
const openFlac = async (): Promise<WasmDecoder> => new (await import('@wasm-audio-decoders/flac')).FLACDecoder();
const openOpus = async (): Promise<WasmDecoder> => new (await import('ogg-opus-decoder')).OggOpusDecoder();
const openVorbis = async (): Promise<WasmDecoder> =>
  new (await import('@wasm-audio-decoders/ogg-vorbis')).OggVorbisDecoder();
