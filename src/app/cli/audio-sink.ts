// The output of `say` and `book`. Files are written atomically; pipes receive the audio while it is generated. Both
// outputs apply back-pressure.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  constants,
  createReadStream,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { dirname, extname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { audioFormats, type FormatName, type Origin } from '../../audio.ts';
import { type OpenSigner, signFinished } from '../../clips.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import { speechFields } from '../../speech.ts';
import { CommandError, UsageError, withOpened } from './command.ts';

const otherExtensions: Readonly<Record<string, string>> = { ogg: 'opus' };

/**
 * Chooses the format named by `--format`, or else by the file extension, or else WAV. Warns if the flag and the
 * extension disagree.
 */
export function chooseFormat(named: string | undefined, output: string): FormatName {
  const formats = speechFields.formatNames.map((name) => audioFormats[name]);
  const given = extname(output).slice(1).toLowerCase();
  const meant = formats.find(({ extension }) => extension === (otherExtensions[given] ?? given));
  if (named !== undefined) {
    const format = formats.find(({ name }) => name === named);
    if (!format) throw new UsageError(`--format ${named}: must be one of ${speechFields.formatNames.join(', ')}`);
    if (meant && meant !== format)
      process.stderr.write(`sonant: warning: writing ${format.name} to ${output}, despite its extension\n`);
    return format.name;
  }
  const extensions = [...formats.map(({ extension }) => extension), ...Object.keys(otherExtensions)].join(', .');
  if (!meant && given !== '')
    throw new UsageError(`no format has the extension .${given}; use .${extensions}, or add --format`);
  return meant?.name ?? 'wav';
}

export interface AudioSink {
  write(bytes: Uint8Array): Promise<void>;
  /** Completes the output: overwrites the first bytes with `head` and renames the file into place. */
  finish(head: Uint8Array | undefined): Promise<void>;
  /** Deletes an unfinished file. */
  close(): Promise<void>;
}

export async function openAudioFile(path: string, signal: AbortSignal): Promise<AudioSink> {
  if (path === '') throw new UsageError('name an audio file: -o FILE');
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw new UsageError(`${path} is a folder; name a file`);
  if (found?.isFIFO()) return openNamedPipe(path, signal);
  // A device is written to directly, because it can be neither replaced by a renamed file nor rewound.
  const isPlain = !found || found.isFile();
  const target = found ? await realpath(path) : path;
  const draft = isPlain ? `${target}.part-${process.pid}` : path;
  const file = await open(draft, 'w', found?.mode).catch((error) => {
    throw new UsageError(`cannot write into ${dirname(path)}: ${reasonOf(error)}`);
  });
  let isFinished = false;
  const fail = (error: Error) => {
    throw new CommandError(`cannot write ${path}: ${reasonOf(error)}`);
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

/** Writes a file atomically. Returns the number of bytes. */
export const writeWhole = async (
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal,
  headOf: () => Uint8Array | undefined = () => undefined,
): Promise<number> =>
  withOpened(await openAudioFile(path, signal), async (sink) => {
    let byteCount = 0;
    for await (const piece of pieces) {
      await sink.write(piece);
      byteCount += piece.length;
    }
    await sink.finish(headOf());
    return byteCount;
  });

/** Signs a finished file; returns its size. Opus gets a separate manifest; some formats cannot be signed. */
export async function signAudioFile(
  path: string,
  format: FormatName,
  origin: Origin,
  openSigner: OpenSigner,
  signal: AbortSignal,
): Promise<number> {
  const isPlain = (await stat(path)).isFile();
  const signed = isPlain && (await signFinished(() => createReadStream(path), format, origin, openSigner));
  if (signed) {
    const target = signed.isBeside ? pathBeside(path, 'c2pa') : path;
    await writeWhole(target, signed.pieces, signal, () => signed.file?.head);
  }
  return (await stat(path)).size;
}

/** Replaces the extension of a path, for example with `c2pa` for the path of the file's manifest. */
export const pathBeside = (path: string, extension: string): string =>
  `${path.slice(0, path.length - extname(path).length)}.${extension}`;

async function openNamedPipe(path: string, signal: AbortSignal): Promise<AudioSink> {
  const pipe = await waitForReader(path, signal).catch((error) => {
    throw new UsageError(`cannot write into ${path}: ${reasonOf(error)}`);
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

const pollForReaderMs = 50;

/** Opens a named pipe once it has a reader. A plain `open` would block a thread and could not be cancelled. */
async function waitForReader(path: string, signal: AbortSignal): Promise<Socket> {
  for (;;) {
    try {
      return new Socket({ fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), readable: false });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      await sleep(pollForReaderMs, undefined, { signal });
    }
  }
}

/** Opens standard output. If it is an empty file, as after `>`, the header is corrected at the end. */
export function openStandardOutput(signal: AbortSignal): AudioSink {
  const { stdout } = process;
  if (isClosed(stdout.fd)) throw new CommandError('standard output is closed; name an audio file: -o FILE');
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
      // After `>>`, the system appends the corrected header instead of overwriting bytes, so this copy is cut off.
      if (fstatSync(stdout.fd).size > size) ftruncateSync(stdout.fd, size);
    },
  };
}

/**
 * Whether the descriptor was closed when the program started, as after `>&-`. Node replaces a closed descriptor with
 * /dev/null, opened for reading and writing. For `> /dev/null`, a shell opens it only for writing.
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

/** Output to a pipe. Writes fail after the reader has closed the pipe. */
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

// Plays audio while it is generated, with the first installed player program. Players read raw samples from standard
// input. If a player fails, the last line of its standard error is reported.

interface Player {
  program: string;
  /** Arguments to play 16-bit mono samples. */
  args(sampleRateHz: number): string[];
}

type Running = ChildProcessByStdio<Writable, null, Readable>;

const raw = (sampleRateHz: number) => ['-t', 'raw', '-r', `${sampleRateHz}`, '-e', 'signed', '-b', '16', '-c', '1'];

/** Players in order of preference. The first player uses the desktop's sound server. */
const players: readonly Player[] = [
  { program: 'paplay', args: (rate) => ['--raw', '--format=s16le', `--rate=${rate}`, '--channels=1'] },
  { program: 'aplay', args: (rate) => ['-q', '-t', 'raw', '-f', 'S16_LE', '-r', `${rate}`, '-c', '1', '-'] },
  { program: 'play', args: (rate) => ['-q', ...raw(rate), '-'] },
  {
    program: 'ffplay',
    args: (rate) => ['-loglevel', 'error', '-nodisp', '-autoexit', '-f', 's16le', '-ar', `${rate}`, '-i', 'pipe:0'],
  },
  {
    program: 'mpv',
    args: (rate) => [
      '--no-terminal',
      '--no-video',
      '--demuxer=rawaudio',
      '--demuxer-rawaudio-format=s16le',
      `--demuxer-rawaudio-rate=${rate}`,
      '--demuxer-rawaudio-channels=1',
      '-',
    ],
  },
];

export const playerNames: readonly string[] = players.map(({ program }) => program);

const stderrCharsMax = 2_000;

/** Plays PCM as it is written; `finish` waits until playback ends. */
export async function openPlayer(sampleRateHz: number, signal: AbortSignal): Promise<AudioSink> {
  for (const { program, args } of players) {
    const running = await start(program, args(sampleRateHz));
    if (running) return toSink(program, running, signal);
  }
  throw new CommandError(`no audio player is installed: --play needs one of ${playerNames.join(', ')}`);
}

/** Starts a player. Resolves to undefined if the program is not installed. */
function start(program: string, args: string[]): Promise<Running | undefined> {
  const running = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  return new Promise((resolve, reject) => {
    running.once('spawn', () => resolve(running));
    running.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT'
        ? resolve(undefined)
        : reject(new CommandError(`cannot run the player ${program}: ${reasonOf(error)}`)),
    );
  });
}

function toSink(program: string, running: Running, signal: AbortSignal): AudioSink {
  let stderr = '';
  running.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrCharsMax);
  });
  // Pipe errors are ignored, because the program's exit reports the failure.
  running.stdin.on('error', () => {});
  const ended = once(running, 'close').then(([code]) => code as number | null);
  const failed = () => {
    const last = stderr.trim().split('\n').at(-1);
    return new CommandError(`the player ${program} failed${last ? `: ${last}` : ' without a reason'}`);
  };
  signal.addEventListener('abort', () => running.kill(), { once: true });
  return {
    async write(bytes) {
      const hasRoom = !running.stdin.destroyed && running.stdin.write(bytes);
      if (!hasRoom) await Promise.race([once(running.stdin, 'drain').catch(() => ended), ended]);
      if (!running.stdin.destroyed) return;
      await ended;
      throw failed();
    },
    async finish() {
      running.stdin.end();
      if ((await ended) !== 0) throw failed();
    },
    async close() {
      running.kill();
      await ended;
    },
  };
}
