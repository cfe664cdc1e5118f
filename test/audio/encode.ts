// Sound through the encoder of a format, as it leaves in a stream and as it is in a whole file.
import { type AudioFormat, audioFormats, type FormatName } from '../../src/audio/formats.ts';
import { join } from '../../src/audio/pcm.ts';

export interface Encoded {
  /** Each part as it comes, and the end. */
  stream: Uint8Array<ArrayBuffer>;
  /** The file that it becomes when it is kept. */
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

/** The rate at which the encoder of a format takes its sound. */
export const encodedRateOf = (format: FormatName, sampleRateHz: number): number =>
  audioFormats[format].encodedRateHz?.(sampleRateHz) ?? sampleRateHz;
