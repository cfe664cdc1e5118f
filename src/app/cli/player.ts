// Plays audio while it is generated, with the first installed player program. Players read raw samples from standard
// input. If a player fails, the last line of its standard error is reported.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import type { AudioSink } from './audio-sink.ts';
import { CommandError } from './command.ts';

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
