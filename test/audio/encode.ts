// Sound through the encoder of a format, as it leaves in a stream and as it is in a whole file.
import { type AudioFormat, audioFormats, type FormatName } from '../../src/audio/formats.ts';
import { join } from '../../src/audio/join.ts';

/** A stream of it: each part as it comes, and the end. */
export async function encode(
  format: AudioFormat,
  sampleRateHz: number,
  parts: Iterable<Float32Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = await format.openEncoder(sampleRateHz);
  const out = [...parts].map((part) => encoder.encode(part));
  out.push(encoder.end());
  encoder.close();
  return join(Uint8Array, out);
}

/** The file that a stream of it becomes when it is kept. */
export async function encodeWhole(
  format: AudioFormat,
  sampleRateHz: number,
  parts: Iterable<Float32Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = await format.openEncoder(sampleRateHz);
  const out = [...parts].map((part) => encoder.encode(part));
  const file = join(Uint8Array, [...out, encoder.end()]);
  file.set(encoder.head?.() ?? []);
  encoder.close();
  return file;
}

/** The rate at which the encoder of a format takes its sound. */
export const encodedRateOf = (format: FormatName, sampleRateHz: number): number =>
  audioFormats[format].encodedRateHz?.(sampleRateHz) ?? sampleRateHz;
