// What sound can leave as: one row a format, with its content type, its file extension and how a stream of it is
// encoded. A row is all that anyone above needs to know of a format.
import { createFlacEncoder } from './flac/flac-encoder.ts';
import { mp3DelaySamples, openMp3Encoder } from './mp3.ts';
import { openOggOpusEncoder, opusBytesPerSecond, toOpusRateHz } from './ogg-opus.ts';
import { createPcmEncoder, createWavEncoder } from './wav.ts';

/** Encodes one stream, in order. All it answers, joined, is one valid file. */
export interface Encoder {
  /** The bytes that are ready; they may lag behind the samples. */
  encode(samples: Float32Array): Uint8Array;
  /** The last bytes. */
  end(): Uint8Array;
  /** What a whole file begins with in place of what it began with as a stream, once all of it is known. */
  head?(): Uint8Array;
  /** Frees it; after `end` there is nothing left to free. */
  close(): void;
}

export interface AudioFormat {
  name: FormatName;
  contentType: 'audio/wav' | 'audio/pcm' | 'audio/mpeg' | 'audio/ogg' | 'audio/flac';
  extension: string;
  /** `sampleRateHz` is what was asked for; samples are taken at `encodedRateHz` of it. */
  openEncoder(sampleRateHz: number): Promise<Encoder>;
  /** For a format that has rates of its own; without, all of them are its own. */
  encodedRateHz?(sampleRateHz: number): number;
  /** What a second of sound takes, or takes as a rule, headers aside. */
  bytesPerSecond(sampleRateHz: number): number;
  /** What it begins with besides. */
  headBytes?: number;
  /** How many samples later than it went in the sound is heard, where the format cannot tell players to skip them. */
  delaySamples?: number;
}

export type FormatName = 'wav' | 'pcm' | 'mp3' | 'opus' | 'flac';

const bareBytesPerSecond = (sampleRateHz: number) => sampleRateHz * 2;
/** As speech compresses, the more the higher the rate. */
const flacBytesPerSecond = (sampleRateHz: number) => 15_000 + sampleRateHz * 0.25;

export const audioFormats: Readonly<Record<FormatName, AudioFormat>> = Object.freeze({
  wav: {
    name: 'wav',
    contentType: 'audio/wav',
    extension: 'wav',
    openEncoder: async (sampleRateHz) => createWavEncoder(sampleRateHz),
    bytesPerSecond: bareBytesPerSecond,
    headBytes: 44,
  },
  pcm: {
    name: 'pcm',
    contentType: 'audio/pcm',
    extension: 'pcm',
    openEncoder: async () => createPcmEncoder(),
    bytesPerSecond: bareBytesPerSecond,
  },
  mp3: {
    name: 'mp3',
    contentType: 'audio/mpeg',
    extension: 'mp3',
    openEncoder: openMp3Encoder,
    bytesPerSecond: () => 8_000,
    delaySamples: mp3DelaySamples,
  },
  opus: {
    name: 'opus',
    contentType: 'audio/ogg',
    extension: 'opus',
    openEncoder: openOggOpusEncoder,
    encodedRateHz: toOpusRateHz,
    bytesPerSecond: () => opusBytesPerSecond,
  },
  flac: {
    name: 'flac',
    contentType: 'audio/flac',
    extension: 'flac',
    openEncoder: async (sampleRateHz) => createFlacEncoder(sampleRateHz),
    bytesPerSecond: flacBytesPerSecond,
  },
});

export const formatNames = Object.keys(audioFormats) as readonly FormatName[];

/** The sample rates that sound can leave at. */
export const outputSampleRatesHz = [24000, 44100, 48000] as const;
