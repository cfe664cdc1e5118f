// Where `say` puts the sound: a file, which appears whole under its name or not at all, or a pipe, which is written as
// the sound is made. Both wait for what is slow to take it.
import { once } from 'node:events';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AudioFormat } from '../audio/formats.ts';
import { UsageError } from './command.ts';

export interface AudioSink {
  write(bytes: Uint8Array): Promise<void>;
  /** All is written: the file gets its true sizes and its name. */
  finish(): Promise<void>;
  /** Leaves nothing behind, unless finished. */
  close(): Promise<void>;
}

const headBytesMax = 64;

export async function openAudioFile(path: string, format: AudioFormat): Promise<AudioSink> {
  if (path === '') throw new UsageError('name a file for the sound: -o FILE');
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw new UsageError(`${path} is a folder; name a file`);
  // A device or a pipe with a name is written to as it is: it has no beginning to come back to.
  const isPlain = !found || found.isFile();
  const target = found ? await realpath(path) : path;
  const draft = isPlain ? `${target}.part-${process.pid}` : path;
  const file = await open(draft, 'w', found?.mode).catch((error) => {
    throw new UsageError(`cannot write into ${dirname(path)}: ${(error as Error).message}`);
  });
  let byteCount = 0;
  let isFinished = false;
  let head: Uint8Array = new Uint8Array();
  return {
    async write(bytes) {
      if (head.length < headBytesMax) head = Buffer.concat([head, bytes]).subarray(0, headBytesMax);
      await writeAll(file, bytes);
      byteCount += bytes.length;
    },
    async finish() {
      if (isPlain && format.seal) {
        format.seal(head, byteCount);
        await file.write(head, 0, head.length, 0);
      }
      await file.close();
      if (isPlain) await rename(draft, target);
      isFinished = true;
    },
    async close() {
      if (isFinished) return;
      await file.close();
      if (isPlain) await rm(draft, { force: true });
    },
  };
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length; ) from += (await file.write(bytes, from)).bytesWritten;
}

/** Standard output. Rejects when the reader at its other end has gone. */
export function openPipe(pipe: NodeJS.WriteStream, signal: AbortSignal): AudioSink {
  let broken: Error | undefined;
  pipe.once('error', (error) => {
    broken = error;
  });
  return {
    async write(bytes) {
      if (pipe.destroyed) throw broken ?? new Error('standard output is closed');
      if (!pipe.write(bytes)) await once(pipe, 'drain', { signal });
    },
    async finish() {
      await new Promise<void>((resolve, reject) => pipe.write('', (error) => (error ? reject(error) : resolve())));
    },
    async close() {},
  };
}
