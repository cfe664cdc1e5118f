// The output formats. Each row has a content type, a file extension and a streaming encoder. Code that needs to know a
// particular format belongs in `book-file/`; all other code uses only the rows.
import type { OutputFormat } from '../../gen/sonant/v1/speech_pb.ts';
import type { Encoder } from './encoder.ts';
import { createFlacEncoder } from './flac/flac-encoder.ts';
import { toInt16 } from './level.ts';
import { mp3DelaySamples, openMp3Encoder } from './mp3.ts';
import { openOggOpusEncoder, opusBytesPerSecond, toOpusRateHz } from './ogg-opus.ts';
import type { Origin } from './origin.ts';
import { createPcmEncoder, createWavEncoder } from './wav.ts';

const muLawBias = 132;
const muLawMax = 32635;

/** In mu-law and A-law, positive samples have the sign bit 0x80 after the inversion. */
function toMuLaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), muLawMax) + muLawBias;
  const segment = 24 - Math.clz32(magnitude);
  return ~(sign | (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f)) & 0xff;
}

function toALaw(sample: number): number {
  const sign = sample < 0 ? 0 : 0x80;
  const magnitude = (sample < 0 ? ~sample : sample) >> 3;
  const segment = Math.max(0, 27 - Math.clz32(magnitude));
  const step = segment < 2 ? magnitude >> 1 : magnitude >> segment;
  return (sign | (segment << 4) | (step & 0x0f)) ^ 0x55;
}

/** Creates a table with a byte for each 16-bit sample. */
const tableOf = (encode: (sample: number) => number) =>
  Uint8Array.from({ length: 65_536 }, (_, i) => encode((i << 16) >> 16));
const tables = new Map<typeof toMuLaw, Uint8Array>();

function createEncoder(law: typeof toMuLaw): Encoder {
  const table = tables.get(law) ?? tableOf(law);
  tables.set(law, table);
  const encode = (samples: Float32Array) => Uint8Array.from(toInt16(samples), (sample) => table[sample & 0xffff]!);
  return { encode, end: () => new Uint8Array(0), close() {} };
}

const createMuLawEncoder = (): Encoder => createEncoder(toMuLaw);
const createALawEncoder = (): Encoder => createEncoder(toALaw);

export interface AudioFormat {
  name: FormatName;
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

/** The names of the formats, from the enum in the protos. */
export type FormatName = Exclude<Lowercase<keyof typeof OutputFormat>, 'unspecified'>;

const bareBytesPerSecond = (sampleRateHz: number) => sampleRateHz * 2;
/** An estimate, measured with speech. Speech compresses better at higher rates. */
const flacBytesPerSecond = (sampleRateHz: number) => 15_000 + sampleRateHz * 0.25;

export const audioFormats: Readonly<Record<FormatName, AudioFormat>> = Object.freeze({
  wav: {
    name: 'wav',
    contentType: 'audio/wav',
    extension: 'wav',
    openEncoder: async (...given) => createWavEncoder(...given),
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
    isCompressed: true,
    delaySamples: mp3DelaySamples,
    heldSamples: 2048,
  },
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
  // mu-law and A-law (RFC 3551, section 4.5.14) are for live speech only.
  ulaw: {
    name: 'ulaw',
    contentType: 'audio/PCMU',
    extension: 'ulaw',
    openEncoder: async () => createMuLawEncoder(),
    bytesPerSecond: (sampleRateHz) => sampleRateHz,
  },
  alaw: {
    name: 'alaw',
    contentType: 'audio/PCMA',
    extension: 'alaw',
    openEncoder: async () => createALawEncoder(),
    bytesPerSecond: (sampleRateHz) => sampleRateHz,
  },
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
