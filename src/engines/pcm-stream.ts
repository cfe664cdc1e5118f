// Reads samples from the bytes of an engine's program or server: 16-bit mono, little-endian, raw or as a WAV that is
// still being written. The sizes in such a WAV header are ignored: the audio ends when the bytes end.
import { type Pcm, samplesOf } from '../audio/pcm.ts';
import { pcmTag, readWavHeader, type WavFormat } from '../audio/wav-reader.ts';
import { Failure } from '../errors.ts';

const headerBytesMax = 4_096;
const sampleRateHzMin = 8_000;
const sampleRateHzMax = 48_000;

const broken = (why: string): Failure => new Failure('engine_error', {}, new Error(`unexpected audio: ${why}`));

/** Reads the samples of a WAV. */
export const wavPcm = (bytes: AsyncIterable<Buffer>): AsyncGenerator<Pcm> => readPcm(bytes, undefined);

/** Reads raw samples at this rate. If the bytes are a WAV, its own rate is used. */
export const barePcm = (bytes: AsyncIterable<Buffer>, sampleRateHz: number): AsyncGenerator<Pcm> =>
  readPcm(bytes, sampleRateHz);

async function* readPcm(bytes: AsyncIterable<Buffer>, bareRateHz: number | undefined): AsyncGenerator<Pcm> {
  let rest: Buffer = Buffer.alloc(0);
  let sampleRateHz: number | undefined;
  for await (const piece of bytes) {
    rest = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
    if (sampleRateHz === undefined) {
      const begun = beginningOf(rest, bareRateHz);
      if (!begun) continue;
      sampleRateHz = begun.sampleRateHz;
      rest = rest.subarray(begun.start);
    }
    const samples = samplesOf(rest);
    // An odd byte is kept until its second half arrives.
    rest = rest.subarray(2 * samples.length);
    if (samples.length > 0) yield { samples, sampleRateHz };
  }
  if (sampleRateHz === undefined && bareRateHz === undefined) throw broken('it ends before its samples');
  if (rest.length > 0) throw broken('it ends within a sample or a header');
}

/** The sample rate and the start of the samples; undefined until the bytes show them. */
function beginningOf(bytes: Buffer, bareRateHz?: number): { sampleRateHz: number; start: number } | undefined {
  if (bytes.length < 4) return undefined;
  const isRiff = bytes.toString('latin1', 0, 4) === 'RIFF';
  if (!isRiff && bareRateHz !== undefined) return { sampleRateHz: bareRateHz, start: 0 };
  if (bytes.length < 12) return undefined;
  if (!isRiff || bytes.toString('latin1', 8, 12) !== 'WAVE') throw broken('no RIFF header');
  const { format, data } = readWavHeader(bytes);
  if (format) refuseOther(format);
  if (data) {
    if (!format) throw broken('no fmt chunk before the data chunk');
    return { sampleRateHz: format.sampleRateHz, start: data.start };
  }
  if (bytes.length > headerBytesMax) throw broken('no data chunk');
  return undefined;
}

function refuseOther({ tag, channels, sampleRateHz, bytesPerSample }: WavFormat): void {
  if (tag !== pcmTag || channels !== 1 || bytesPerSample !== 2)
    throw broken(`format ${tag}, ${channels} channels, ${8 * bytesPerSample} bits`);
  if (sampleRateHz < sampleRateHzMin || sampleRateHz > sampleRateHzMax) throw broken(`${sampleRateHz} Hz`);
}
