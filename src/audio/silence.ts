// Silence as a stream of any format.
import { audioFormats, type FormatName } from './formats.ts';

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
