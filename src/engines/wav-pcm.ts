// The sound in a WAV that is still being written (RIFF, Microsoft 1991), 16 bits and one channel:
//     "RIFF" size "WAVE"   "fmt " 16 | 1 channels rate byterate align bits   ...   "data" size samples
// Every number is little-endian. The sizes of RIFF and data are guesses in a stream, so sound lasts until the bytes end.
import type { Pcm } from '../audio/pcm.ts';
import { Failure } from '../errors.ts';

const headerBytesMax = 4_096;

const broken = (why: string): Failure => new Failure('engine_error', {}, new Error(`not the WAV expected: ${why}`));

/** The rate, and where the samples begin; undefined while the header is not all there. */
function parseHeader(bytes: Buffer): { sampleRateHz: number; end: number } | undefined {
  if (bytes.length < 12) return undefined;
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') throw broken('no RIFF');
  let sampleRateHz: number | undefined;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString('latin1', at, at + 4);
    const body = at + 8;
    if (name === 'data') {
      if (!sampleRateHz) throw broken('no fmt before data');
      return { sampleRateHz, end: body };
    }
    const size = bytes.readUInt32LE(at + 4);
    if (name === 'fmt ') {
      if (bytes.length < body + 16) break;
      const [format, channels, bits] = [0, 2, 14].map((offset) => bytes.readUInt16LE(body + offset));
      if (format !== 1 || channels !== 1 || bits !== 16) throw broken(`${format}, ${channels} channels, ${bits} bits`);
      sampleRateHz = bytes.readUInt32LE(body + 4);
      if (sampleRateHz < 8_000 || sampleRateHz > 48_000) throw broken(`${sampleRateHz} Hz`);
    }
    at = body + size + (size % 2);
  }
  if (bytes.length > headerBytesMax) throw broken('no data chunk');
  return undefined;
}

/** The samples of a WAV as its bytes come in. */
export async function* wavPcm(written: AsyncIterable<Buffer>): AsyncGenerator<Pcm> {
  let rest: Buffer = Buffer.alloc(0);
  let sampleRateHz: number | undefined;
  for await (const chunk of written) {
    rest = Buffer.concat([rest, chunk]);
    if (sampleRateHz === undefined) {
      const header = parseHeader(rest);
      if (!header) continue;
      sampleRateHz = header.sampleRateHz;
      rest = rest.subarray(header.end);
    }
    const samples = new Int16Array(Math.floor(rest.length / 2));
    for (let index = 0; index < samples.length; index++) samples[index] = rest.readInt16LE(2 * index);
    rest = rest.subarray(2 * samples.length);
    if (samples.length > 0) yield { samples, sampleRateHz };
  }
  if (sampleRateHz === undefined) throw broken('it ends before its samples');
  if (rest.length > 0) throw broken('it ends within a sample');
}
