// Reads 16-bit little-endian samples from the bytes that an engine's program or server sends: raw samples, or a WAV
// that is still being written. A WAV ends at the size in its header, or at the end of the bytes if that size is
// implausible. Several WAVs may follow each other. Two channels are mixed into one.

import { pcmTag, readWavHeader } from '../audio.ts';
import { Failure } from '../platform/errors.ts';
import { join, type Pcm, samplesOf } from '../platform/pcm.ts';

const headerBytesMax = 4_096;
const sampleRateHzMin = 8_000;
const sampleRateHzMax = 48_000;
const channelsMax = 2;
/** A size of this many bytes or more means hours of audio, so it is a placeholder. */
const guessedBytesMin = 1_000_000_000;
/** Shorter pieces are joined, because each piece takes memory of its own until it is read. */
const pieceSecondsMin = 0.01;

export interface BareFormat {
  sampleRateHz: number;
  channels: number;
}

const broken = (why: string): Failure => new Failure('engine_error', {}, new Error(`unexpected audio: ${why}`));

/** Reads the samples of a WAV. */
export const wavPcm = (bytes: AsyncIterable<Buffer>): AsyncGenerator<Pcm> => readPcm(bytes, undefined);

/**
 * Reads bare samples. `bare` is the sample rate, or a function that finds the format; the function is called only if
 * the bytes begin without a WAV header. If there is a header, it states the format.
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
  let place: 'header' | 'samples' | 'after samples' = 'header';
  /** Bytes of samples still to come; Infinity if unknown. */
  let left = 0;
  /** Remaining bytes of a chunk without audio, which are skipped. */
  let skipped = 0;
  let parts: Int16Array[] = [];
  let partSamples = 0;
  const takeParts = (): Pcm => {
    const samples = join(Int16Array, parts);
    parts = [];
    partSamples = 0;
    return { samples, sampleRateHz: format!.sampleRateHz };
  };
  for await (const piece of bytes) {
    // Some servers send each piece of audio as a separate WAV.
    if (left === Infinity && rest.length === 0 && isWav(piece)) place = 'header';
    rest = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
    while (rest.length > 0) {
      const passed = Math.min(skipped, rest.length);
      skipped -= passed;
      rest = rest.subarray(passed);
      if (place === 'after samples') {
        if (rest.length < 8) break;
        const name = rest.toString('latin1', 0, 4);
        if (name === 'RIFF') place = 'header';
        else if (isChunkName(name)) {
          const size = rest.readUInt32LE(4);
          skipped = 8 + size + (size % 2);
        } else {
          // The size in the header covered only the first piece, so these bytes are more samples.
          place = 'samples';
          left = Infinity;
        }
        continue;
      }
      if (place === 'header') {
        if (rest.length < 4) break;
        const isRiff = rest.toString('latin1', 0, 4) === 'RIFF';
        const begun: BegunSound | undefined =
          isRiff || !findBare ? wavIn(rest) : { ...(await findBare()), ...bareStart };
        if (!begun) break;
        if (format && format.sampleRateHz !== begun.sampleRateHz) throw broken('its rate changes');
        checkRate(begun.sampleRateHz);
        format = begun;
        place = 'samples';
        left = begun.byteCount;
        rest = rest.subarray(begun.start);
      }
      const { sampleRateHz, channels } = format!;
      const bytesNow = Math.min(rest.length, left);
      // An incomplete frame is kept until its other bytes arrive.
      const whole = rest.subarray(0, bytesNow - (bytesNow % (2 * channels)));
      rest = rest.subarray(whole.length);
      left -= whole.length;
      if (whole.length > 0) parts.push(mixed(samplesOf(whole), channels));
      partSamples += whole.length / (2 * channels);
      if (partSamples >= pieceSecondsMin * sampleRateHz) yield takeParts();
      if (left > 0 && left < 2 * channels) throw broken('its size is not one of whole samples');
      if (left > 0) break;
      place = 'after samples';
    }
  }
  if (partSamples > 0) yield takeParts();
  if (place === 'after samples') return;
  if (!format && !findBare) throw broken('it ends before its samples');
  if (place === 'samples' && left < Infinity) throw cutOff();
  if (rest.length > 0) throw broken('it ends within a sample or a header');
}

/** Whether the bytes after the samples begin another chunk of the WAV, not more samples. */
const isChunkName = (name: string): boolean => /^[A-Za-z0-9_ ]{4}$/.test(name);

const cutOff = (): Failure =>
  new Failure('engine_error', { retryAfterSeconds: 0 }, new Error('unexpected audio: it ends before its stated size'));

const isWav = (bytes: Buffer): boolean =>
  bytes[0] === 0x52 && bytes.length >= 12 && /^RIFF....WAVE/s.test(bytes.toString('latin1', 0, 12));

function mixed(samples: Int16Array, channels: number): Int16Array {
  if (channels === 1) return samples;
  return Int16Array.from({ length: samples.length / 2 }, (_, i) => (samples[2 * i]! + samples[2 * i + 1]!) >> 1);
}

interface BegunSound extends BareFormat {
  /** Index of the first byte of the samples. */
  start: number;
  /** Size of the samples; Infinity if unknown. */
  byteCount: number;
}
const bareStart = { start: 0, byteCount: Infinity };

/** Format and start of the samples in a WAV; undefined while the bytes do not show where the samples begin. */
function wavIn(bytes: Buffer): BegunSound | undefined {
  if (bytes.length < 12) return undefined;
  if (!isWav(bytes)) throw broken('no RIFF');
  const { format, data } = readWavHeader(bytes);
  if (format) {
    const { tag, channels, bytesPerSample } = format;
    if (tag !== pcmTag || channels < 1 || channels > channelsMax || bytesPerSample !== 2)
      throw broken(`format ${tag}, ${channels} channels, ${8 * bytesPerSample} bits`);
  }
  if (data) {
    if (!format) throw broken('no fmt before data');
    const { sampleRateHz, channels } = format;
    const { start, byteCount = Infinity } = data;
    return { sampleRateHz, channels, start, byteCount: byteCount < guessedBytesMin ? byteCount : Infinity };
  }
  if (bytes.length > headerBytesMax) throw broken('no data chunk');
  return undefined;
}

function checkRate(sampleRateHz: number): void {
  const isUsual = Number.isInteger(sampleRateHz) && sampleRateHz >= sampleRateHzMin && sampleRateHz <= sampleRateHzMax;
  if (!isUsual) throw broken(`${sampleRateHz} Hz`);
}
