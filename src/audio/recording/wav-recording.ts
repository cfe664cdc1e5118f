// Reads a whole WAV (wav-reader.ts) that was uploaded. A size in its header that the file does not reach is a fault; one
// that was left open, as streams do, means up to the end.
import { floatTag, pcmTag, readWavHeader, type WavData, type WavFormat } from '../wav-reader.ts';
import { RecordingFault, refuseOddShape, type Track, unreadable } from './track.ts';

const blockFrames = 16_384;

export function readWav(file: Buffer, secondsMax: number, track: Track): void {
  const { format, data } = readWavHeader(file);
  if (format) refuseOtherFormat(format);
  if (!data) throw unreadable('is a WAV that ends before its samples');
  if (!format) throw unreadable('is a WAV that does not say what its samples are');
  const { channels, sampleRateHz, bytesPerSample } = format;
  const bytes = samplesOf(file, data);
  const frameBytes = channels * bytesPerSample;
  const frames = Math.floor(bytes.length / frameBytes);
  // Checked before any sample is read.
  if (frames > secondsMax * sampleRateHz)
    throw new RecordingFault('audio_too_long', `lasts more than ${secondsMax} seconds`);
  const read = sampleReader(bytes, format);
  for (let from = 0; from < frames; from += blockFrames) {
    const length = Math.min(blockFrames, frames - from);
    const block = Array.from({ length: channels }, (_, channel) =>
      Float32Array.from({ length }, (_, i) => read((from + i) * frameBytes + channel * bytesPerSample)),
    );
    track.add(block, sampleRateHz);
  }
}

function refuseOtherFormat({ tag, channels, sampleRateHz, bytesPerSample }: WavFormat): void {
  refuseOddShape(channels, sampleRateHz);
  const sizes = tag === pcmTag ? [1, 2, 3, 4] : tag === floatTag ? [4, 8] : [];
  if (sizes.length === 0)
    throw unreadable(`is a WAV of a kind that is not read here (${tag}); send plain PCM or floats`);
  if (!sizes.includes(bytesPerSample)) throw unreadable(`is a WAV with ${8 * bytesPerSample} bits a sample`);
}

function samplesOf(file: Buffer, { start, byteCount }: WavData): Buffer {
  const body = file.subarray(start);
  if (byteCount !== undefined && byteCount > body.length)
    throw unreadable(`is cut off: ${body.length} bytes of sound are left of ${byteCount}`);
  return body.subarray(0, byteCount);
}

/** Reads the sample at an offset. Samples with fewer valid bits than their bytes hold are aligned to the top bit. */
function sampleReader(data: Buffer, { tag, bytesPerSample }: WavFormat): (offset: number) => number {
  if (tag === floatTag) return bytesPerSample === 4 ? (at) => data.readFloatLE(at) : (at) => data.readDoubleLE(at);
  if (bytesPerSample === 1) return (at) => (data[at]! - 128) / 128;
  if (bytesPerSample === 2) return (at) => data.readInt16LE(at) / 2 ** 15;
  if (bytesPerSample === 3) return (at) => data.readIntLE(at, 3) / 2 ** 23;
  return (at) => data.readInt32LE(at) / 2 ** 31;
}
