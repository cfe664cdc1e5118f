// Encodes AAC (ISO/IEC 14496-3, profile LC) in ADTS with the program ffmpeg, if it is installed. The encoders in
// WebAssembly have licences that .ci/licences.ts does not allow.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure } from '../../platform/errors.ts';

const bitsPerSecond = 96_000;
const programPath = () => process.env.PATH ?? '/usr/bin:/bin';

/** Throws a Failure if ffmpeg is not installed, so that a request is refused before it is spoken. Starts no process. */
export async function checkAacEncoder(): Promise<void> {
  const folders = programPath().split(delimiter);
  await Promise.any(folders.map((folder) => access(join(folder, 'ffmpeg'), constants.X_OK))).catch((error) => {
    const message = 'AAC needs the program ffmpeg, which is not installed here. Request mp3, opus, flac, wav or pcm.';
    throw new Failure('not_supported', { message }, error);
  });
}

/**
 * Encodes 16-bit samples. The process starts when the first bytes are read, and ends with the reader or the samples,
 * whichever ends first.
 */
export async function* encodeAac(
  samples: AsyncIterable<Uint8Array>,
  sampleRateHz: number,
): AsyncGenerator<Uint8Array, void> {
  const input = ['-f', 's16le', '-ar', `${sampleRateHz}`, '-ac', '1', '-i', 'pipe:0'];
  const output = ['-c:a', 'aac', '-b:a', `${bitsPerSecond}`, '-f', 'adts', '-flush_packets', '1', 'pipe:1'];
  const child = spawn('ffmpeg', ['-v', 'quiet', ...input, ...output], {
    env: { PATH: programPath() },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    // Without free processes or files, the child has no pipes.
    await once(child, 'spawn').catch((error) => {
      throw new Failure('overloaded', { retryAfterSeconds: 1 }, error);
    });
    // Neither the process nor its pipes may keep the service from exiting.
    for (const held of [child, child.stdin as Socket, child.stdout as Socket]) held.unref();
    const written = pipeline(samples, child.stdin);
    // The error is thrown after the bytes that precede it.
    written.catch(() => {});
    yield* child.stdout;
    await written;
  } finally {
    child.kill('SIGKILL');
    // The pipeline does not end samples that it waits for, or that it has not begun.
    await samples[Symbol.asyncIterator]().return?.();
  }
}
