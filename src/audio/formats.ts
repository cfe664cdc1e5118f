// What sound can leave as: one row a format, with its content type, its file extension and how a stream of it is
// encoded. A row is all that anyone above needs to know of a format.
import { openMp3Encoder } from './mp3.ts';
import { createPcmEncoder, createWavEncoder, sealWav } from './wav.ts';

/** Encodes one stream, in order. All it answers, joined, is one valid file. */
export interface Encoder {
  /** The bytes that are ready; they may lag behind the samples. */
  encode(samples: Float32Array): Uint8Array;
  /** The last bytes. */
  end(): Uint8Array;
  /** Frees it; after `end` there is nothing left to free. */
  close(): void;
}

export interface AudioFormat {
  name: FormatName;
  contentType: 'audio/wav' | 'audio/pcm' | 'audio/mpeg';
  extension: string;
  openEncoder(sampleRateHz: number): Promise<Encoder>;
  /** Completes a whole file that was encoded as a stream, in place. Its head and its length will do as well. */
  seal?(file: Uint8Array, byteCount?: number): void;
}

export type FormatName = 'wav' | 'pcm' | 'mp3';

export const audioFormats: Readonly<Record<FormatName, AudioFormat>> = Object.freeze({
  wav: {
    name: 'wav',
    contentType: 'audio/wav',
    extension: 'wav',
    openEncoder: async (sampleRateHz) => createWavEncoder(sampleRateHz),
    seal: sealWav,
  },
  pcm: { name: 'pcm', contentType: 'audio/pcm', extension: 'pcm', openEncoder: async () => createPcmEncoder() },
  mp3: { name: 'mp3', contentType: 'audio/mpeg', extension: 'mp3', openEncoder: openMp3Encoder },
});

const mp3BytesPerSecond = 8_000;

/** What a second of sound takes, headers aside. */
export const bytesPerSecondOf = (format: FormatName, sampleRateHz: number): number =>
  format === 'mp3' ? mp3BytesPerSecond : sampleRateHz * 2;

/** The sample rates that sound can leave at. */
export const outputSampleRatesHz = [24000, 44100, 48000] as const;
