// The output formats. Each row has a content type, a file extension and a streaming encoder. Code that needs to know a
// particular format belongs in `book-file/`; all other code uses only the rows.
import type { OutputFormat } from '../../gen/sonant/v1/speech_pb.ts';
import type { Encoder } from './encoder.ts';
import { createFlacEncoder } from './flac/flac-encoder.ts';
import { mp3DelaySamples, mp3KbpsAt, openMp3Encoder } from './mp3.ts';
import { openOggOpusEncoder, opusBytesPerSecond, toOpusRateHz } from './ogg-opus.ts';
import type { Origin } from './origin.ts';
import {
  aLaw,
  createRawEncoder,
  createWavEncoder,
  float32,
  int16,
  muLaw,
  type SampleCoding,
  wavHeadBytes,
} from './wav.ts';

export interface AudioFormat {
  /** Name in Sonant's own API. Rows for the clients of other vendors have the name of the nearest format. */
  name: PublicFormatName;
  contentType: 'audio/wav' | 'audio/pcm' | 'audio/mpeg' | 'audio/ogg' | 'audio/flac' | 'audio/PCMU' | 'audio/PCMA';
  extension: string;
  /**
   * `sampleRateHz` is the requested rate; the encoder accepts samples at `encodedRateHz(sampleRateHz)`. If the format
   * has tags, the file starts with the origin.
   */
  openEncoder(sampleRateHz: number, origin?: Origin): Promise<Encoder>;
  /** Returns the encoder's rate for a requested rate. Absent if the format supports all rates. */
  encodedRateHz?(sampleRateHz: number): number;
  /** Size of a second of audio without headers; an estimate if the format compresses. */
  bytesPerSecond(sampleRateHz: number): number;
  /** Whether encoding takes longer than all other processing of the audio. */
  isCompressed?: boolean;
  /** Size of the header in bytes. Absent in compressed formats and in formats without a header. */
  headBytes?: number;
  /** Most samples that the encoder holds back while the stream continues, if they may be more than 0.1 s. */
  heldSamples?: number;
  /** Encoder delay in samples that players do not skip, because the format cannot declare the delay. */
  delaySamples?: number;
}

/** The names of the formats in Sonant's own API, from the enum in the protos. */
export type PublicFormatName = Exclude<Lowercase<keyof typeof OutputFormat>, 'unspecified'>;

/** Bit rates of MP3 in kbit/s that clients of other vendors may request. */
export const mp3BitRates = [32, 48, 64, 96, 128, 192] as const;
type VendorFormatName = 'f32le' | `wav_${'f32le' | 'ulaw' | 'alaw'}` | `mp3_${(typeof mp3BitRates)[number]}`;

export type FormatName = PublicFormatName | VendorFormatName;

/** An estimate, measured with speech. Speech compresses better at higher rates. */
const flacBytesPerSecond = (sampleRateHz: number) => 15_000 + sampleRateHz * 0.25;

const raw = (coding: SampleCoding, row: Pick<AudioFormat, 'name' | 'contentType' | 'extension'>): AudioFormat => ({
  ...row,
  openEncoder: async () => createRawEncoder(coding),
  bytesPerSecond: (sampleRateHz) => sampleRateHz * coding.bytesPerSample,
});
const wav = (coding: SampleCoding): AudioFormat => ({
  ...raw(coding, { name: 'wav', contentType: 'audio/wav', extension: 'wav' }),
  openEncoder: async (sampleRateHz, origin) => createWavEncoder(sampleRateHz, origin, coding),
  headBytes: wavHeadBytes(coding),
});
const mp3 = (kbps: number): AudioFormat => ({
  name: 'mp3',
  contentType: 'audio/mpeg',
  extension: 'mp3',
  openEncoder: (sampleRateHz, origin) => openMp3Encoder(sampleRateHz, origin, kbps),
  bytesPerSecond: (sampleRateHz) => mp3KbpsAt(sampleRateHz, kbps) * 125,
  isCompressed: true,
  delaySamples: mp3DelaySamples,
  heldSamples: 2048,
});
const pcm = { name: 'pcm', contentType: 'audio/pcm', extension: 'pcm' } as const;

export const audioFormats: Readonly<Record<FormatName, AudioFormat>> = Object.freeze({
  wav: wav(int16),
  pcm: raw(int16, pcm),
  mp3: mp3(64),
  opus: {
    name: 'opus',
    contentType: 'audio/ogg',
    extension: 'opus',
    openEncoder: openOggOpusEncoder,
    encodedRateHz: toOpusRateHz,
    bytesPerSecond: () => opusBytesPerSecond,
    isCompressed: true,
  },
  flac: {
    name: 'flac',
    contentType: 'audio/flac',
    extension: 'flac',
    openEncoder: async (...given) => createFlacEncoder(...given),
    bytesPerSecond: flacBytesPerSecond,
    isCompressed: true,
    heldSamples: 2048,
  },
  // mu-law and A-law are for live speech only.
  ulaw: raw(muLaw, { name: 'ulaw', contentType: 'audio/PCMU', extension: 'ulaw' }),
  alaw: raw(aLaw, { name: 'alaw', contentType: 'audio/PCMA', extension: 'alaw' }),
  f32le: raw(float32, pcm),
  wav_f32le: wav(float32),
  wav_ulaw: wav(muLaw),
  wav_alaw: wav(aLaw),
  mp3_32: mp3(32),
  mp3_48: mp3(48),
  mp3_64: mp3(64),
  mp3_96: mp3(96),
  mp3_128: mp3(128),
  mp3_192: mp3(192),
});

export async function encodeSilence(format: FormatName, sampleRateHz: number, seconds: number): Promise<Uint8Array> {
  const { openEncoder, encodedRateHz } = audioFormats[format];
  const encoder = await openEncoder(sampleRateHz);
  try {
    const rateHz = encodedRateHz?.(sampleRateHz) ?? sampleRateHz;
    const first = encoder.encode(new Float32Array(Math.round(rateHz * seconds)));
    return Buffer.concat([Uint8Array.from(first), encoder.end()]);
  } finally {
    encoder.close();
  }
}
