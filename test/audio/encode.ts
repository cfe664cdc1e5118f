// Encodes audio in a format, both as a stream and as a complete file.
import { type AudioFormat, audioFormats, type FormatName } from '../../src/audio/formats.ts';
import { join } from '../../src/platform/pcm.ts';

export interface Encoded {
  /** Each part as it is produced, including the end. */
  stream: Uint8Array<ArrayBuffer>;
  /** The file as it is stored. */
  file: Uint8Array<ArrayBuffer>;
}

export async function encode(
  format: AudioFormat,
  sampleRateHz: number,
  parts: Iterable<Float32Array>,
): Promise<Encoded> {
  const encoder = await format.openEncoder(sampleRateHz);
  const out = [...parts].map((part) => encoder.encode(part));
  const stream = join(Uint8Array, [...out, encoder.end()]);
  const file = stream.slice();
  file.set(encoder.head?.() ?? []);
  encoder.close();
  return { stream, file };
}

/** The input sample rate of a format's encoder. */
export const encodedRateOf = (format: FormatName, sampleRateHz: number): number =>
  audioFormats[format].encodedRateHz?.(sampleRateHz) ?? sampleRateHz;
