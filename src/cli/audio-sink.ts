// The output of `say`: a file, which is written atomically, or a pipe, which is written while the sound is made. Both
// apply backpressure.
import { once } from 'node:events';
import { fstatSync, ftruncateSync, readSync, statSync, writeSync } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { CommandError, UsageError } from './command.ts';
import { openFifoToWrite } from './fifo.ts';

export interface AudioSink {
  write(bytes: Uint8Array): Promise<void>;
  /** Completes the output: `head` replaces the first bytes of the file, and the file gets its name. */
  finish(head: Uint8Array | undefined): Promise<void>;
  /** Deletes an unfinished file. */
  close(): Promise<void>;
}

export async function openAudioFile(path: string, signal: AbortSignal): Promise<AudioSink> {
  if (path === '') throw new UsageError('name a file for the sound: -o FILE');
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw new UsageError(`${path} is a folder; name a file`);
  if (found?.isFIFO()) return openNamedPipe(path, signal);
  // A device is written directly: it cannot be renamed or rewound.
  const isPlain = !found || found.isFile();
  const target = found ? await realpath(path) : path;
  const draft = isPlain ? `${target}.part-${process.pid}` : path;
  const file = await open(draft, 'w', found?.mode).catch((error) => {
    throw new UsageError(`cannot write into ${dirname(path)}: ${(error as Error).message}`);
  });
  let isFinished = false;
  const fail = (error: Error) => {
    throw new CommandError(`cannot write ${path}: ${error.message}`);
  };
  const finish = async (head: Uint8Array | undefined) => {
    if (isPlain && head) await file.write(head, 0, head.length, 0);
    await file.close();
    if (isPlain) await rename(draft, target);
    isFinished = true;
  };
  return {
    write: (bytes) => writeAll(file, bytes).catch(fail),
    finish: (head) => finish(head).catch(fail),
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

async function openNamedPipe(path: string, signal: AbortSignal): Promise<AudioSink> {
  const pipe = await openFifoToWrite(path, signal).catch((error) => {
    throw new UsageError(`cannot write into ${path}: ${(error as Error).message}`);
  });
  return {
    ...openPipe(pipe, signal),
    async finish() {
      await finished(pipe.end());
    },
    async close() {
      pipe.destroy();
    },
  };
}

/** Standard output. In a plain file, as after `>`, the header is corrected if the file has no other content. */
export function openStandardOutput(signal: AbortSignal): AudioSink {
  const { stdout } = process;
  if (isClosed(stdout.fd)) throw new CommandError('standard output is closed; name a file for the sound: -o FILE');
  const pipe = openPipe(stdout, signal);
  const found = fstatSync(stdout.fd);
  if (!found.isFile() || found.size > 0) return pipe;
  return {
    ...pipe,
    async finish(head) {
      await pipe.finish(undefined);
      if (!head) return;
      const { size } = fstatSync(stdout.fd);
      writeSync(stdout.fd, head, 0, head.length, 0);
      // After `>>` the header was appended instead.
      if (fstatSync(stdout.fd).size > size) ftruncateSync(stdout.fd, size);
    },
  };
}

/**
 * Whether it was closed when the program started, as after `>&-`: Node then opens /dev/null in its place, for reading too,
 * which a shell that is told `> /dev/null` does not.
 */
function isClosed(fd: number): boolean {
  const { rdev } = fstatSync(fd);
  if (rdev === 0 || rdev !== statSync('/dev/null', { throwIfNoEntry: false })?.rdev) return false;
  try {
    return readSync(fd, new Uint8Array(1)) === 0;
  } catch {
    return false;
  }
}

/** Writes fail when the reader has closed the pipe. */
function openPipe(pipe: Writable, signal: AbortSignal): AudioSink {
  let broken: Error | undefined;
  pipe.once('error', (error) => {
    broken = error;
  });
  return {
    async write(bytes) {
      if (pipe.destroyed) throw broken ?? new Error('the pipe is closed');
      if (!pipe.write(bytes)) await once(pipe, 'drain', { signal });
    },
    async finish() {
      await new Promise<void>((resolve, reject) => pipe.write('', (error) => (error ? reject(error) : resolve())));
    },
    async close() {},
  };
}
