// Reads samples from the bytes that an engine's program or server sends: 16 bits, little-endian, bare or as a WAV that
// is still being written. The sizes in the header of such a WAV are guesses, so the sound lasts until the bytes end.
// Two channels are mixed.
import { type Pcm, samplesOf } from '../audio/pcm.ts';
import { pcmTag, readWavHeader, type WavFormat } from '../audio/wav-reader.ts';
import { Failure } from '../errors.ts';

const headerBytesMax = 4_096;
const sampleRateHzMin = 8_000;
const sampleRateHzMax = 48_000;
const channelsMax = 2;

export interface BareFormat {
  sampleRateHz: number;
  channels: number;
}

const broken = (why: string): Failure => new Failure('engine_error', {}, new Error(`unexpected audio: ${why}`));

/** Reads the samples of a WAV. */
export const wavPcm = (bytes: AsyncIterable<Buffer>): AsyncGenerator<Pcm> => readPcm(bytes, undefined);

/**
 * Reads bare samples. `bare` is their rate, or a function that finds their format; it is called if the bytes begin
 * without a WAV header. If a WAV comes instead, its header states the format.
 */
export const barePcm = (
  bytes: AsyncIterable<Buffer>,
  bare: number | (() => Promise<BareFormat>),
): AsyncGenerator<Pcm> =>
  readPcm(bytes, typeof bare === 'function' ? bare : async () => ({ sampleRateHz: bare, channels: 1 }));

async function* readPcm(
  bytes: AsyncIterable<Buffer>,
  findBare: (() => Promise<BareFormat>) | undefined,
): AsyncGenerator<Pcm> {
  let rest: Buffer = Buffer.alloc(0);
  let format: BareFormat | undefined;
  let isInHeader = true;
  for await (const piece of bytes) {
    // Some servers send each piece of sound as a separate WAV.
    if (format && rest.length === 0 && isWav(piece)) isInHeader = true;
    rest = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
    if (isInHeader) {
      if (rest.length < 4) continue;
      const isRiff = rest.toString('latin1', 0, 4) === 'RIFF';
      const begun: BegunSound | undefined = isRiff || !findBare ? wavIn(rest) : { ...(await findBare()), start: 0 };
      if (!begun) continue;
      if (format && format.sampleRateHz !== begun.sampleRateHz) throw broken('its rate changes');
      format = begun;
      isInHeader = false;
      rest = rest.subarray(begun.start);
    }
    const { sampleRateHz, channels } = format!;
    // An incomplete frame is kept until its other bytes arrive.
    const whole = rest.subarray(0, rest.length - (rest.length % (2 * channels)));
    rest = rest.subarray(whole.length);
    if (whole.length > 0) yield { samples: mixed(samplesOf(whole), channels), sampleRateHz };
  }
  if (!format && !findBare) throw broken('it ends before its samples');
  if (rest.length > 0) throw broken('it ends within a sample or a header');
}

const isWav = (bytes: Buffer): boolean =>
  bytes[0] === 0x52 && bytes.length >= 12 && /^RIFF....WAVE/s.test(bytes.toString('latin1', 0, 12));

function mixed(samples: Int16Array, channels: number): Int16Array {
  if (channels === 1) return samples;
  return Int16Array.from({ length: samples.length / 2 }, (_, i) => (samples[2 * i]! + samples[2 * i + 1]!) >> 1);
}

interface BegunSound extends BareFormat {
  /** Index of the first byte of the samples. */
  start: number;
}

/** Format and start of the samples in a WAV; undefined while the bytes do not show where the samples begin. */
function wavIn(bytes: Buffer): BegunSound | undefined {
  if (bytes.length < 12) return undefined;
  if (!isWav(bytes)) throw broken('no RIFF');
  const { format, data } = readWavHeader(bytes);
  if (format) refuseOther(format);
  if (data) {
    if (!format) throw broken('no fmt before data');
    return { sampleRateHz: format.sampleRateHz, channels: format.channels, start: data.start };
  }
  if (bytes.length > headerBytesMax) throw broken('no data chunk');
  return undefined;
}

function refuseOther({ tag, channels, sampleRateHz, bytesPerSample }: WavFormat): void {
  if (tag !== pcmTag || channels < 1 || channels > channelsMax || bytesPerSample !== 2)
    throw broken(`format ${tag}, ${channels} channels, ${8 * bytesPerSample} bits`);
  if (sampleRateHz < sampleRateHzMin || sampleRateHz > sampleRateHzMax) throw broken(`${sampleRateHz} Hz`);
}
