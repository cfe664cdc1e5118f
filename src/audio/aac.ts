// Encodes AAC (ISO/IEC 14496-3, profile LC) in ADTS with the program ffmpeg, if it is installed. The encoders in
// WebAssembly have licences that .ci/licences.ts does not allow.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { Failure } from '../platform/errors.ts';

const bitsPerSecond = 96_000;

/** Starts an encoder of 16-bit samples, which must be closed. */
export async function openAacEncoder(sampleRateHz: number) {
  const input = ['-f', 's16le', '-ar', `${sampleRateHz}`, '-ac', '1', '-i', 'pipe:0'];
  const output = ['-c:a', 'aac', '-b:a', `${bitsPerSecond}`, '-f', 'adts', '-flush_packets', '1', 'pipe:1'];
  const { PATH } = process.env;
  const child = spawn('ffmpeg', ['-v', 'quiet', ...input, ...output], {
    env: { PATH },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await once(child, 'spawn').catch((error) => {
    const message = 'AAC needs the program ffmpeg, which is not installed here. Request mp3, opus, flac, wav or pcm.';
    throw new Failure('not_supported', { message }, error);
  });
  return {
    close: () => void child.kill('SIGKILL'),
    async *encode(samples: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      const written = pipeline(samples, child.stdin);
      // The error is thrown after the bytes that precede it.
      written.catch(() => {});
      yield* child.stdout;
      await written;
    },
  };
}
