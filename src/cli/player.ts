// Programs of this machine that play a sound while it is being made: the first that is there and can. They read WAV
// or bare samples from standard input; what they complain of is told when they fail.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { AudioSink } from './audio-sink.ts';
import { CommandError } from './command.ts';

interface Player {
  program: string;
  /** To play 16-bit mono samples. */
  args(sampleRateHz: number): string[];
}

type Running = ChildProcessByStdio<Writable, null, Readable>;

const raw = (sampleRateHz: number) => ['-t', 'raw', '-r', `${sampleRateHz}`, '-e', 'signed', '-b', '16', '-c', '1'];

/** Those that speak to the desktop's sound server first. */
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
      ...['--no-terminal', '--no-video', '--demuxer=rawaudio', '--demuxer-rawaudio-format=s16le'],
      ...[`--demuxer-rawaudio-rate=${rate}`, '--demuxer-rawaudio-channels=1', '-'],
    ],
  },
];

export const playerNames: readonly string[] = players.map(({ program }) => program);

const complaintCharsMax = 2_000;

/** Plays PCM as it is written; `finish` waits until it has been heard. */
export async function openPlayer(sampleRateHz: number, signal: AbortSignal): Promise<AudioSink> {
  for (const { program, args } of players) {
    const running = await start(program, args(sampleRateHz));
    if (running) return toSink(program, running, signal);
  }
  throw new CommandError(`no player is installed here: --play needs one of ${playerNames.join(', ')}`);
}

/** Undefined where there is no such program. */
function start(program: string, args: string[]): Promise<Running | undefined> {
  const running = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  return new Promise((resolve, reject) => {
    running.once('spawn', () => resolve(running));
    running.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? resolve(undefined) : reject(error),
    );
  });
}

function toSink(program: string, running: Running, signal: AbortSignal): AudioSink {
  let complaint = '';
  running.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-complaintCharsMax);
  });
  // That it reads no more is seen by its end, which says why.
  running.stdin.on('error', () => {});
  const ended = once(running, 'close').then(([code]) => code as number | null);
  const failed = () => {
    const last = complaint.trim().split('\n').at(-1);
    return new CommandError(`the player ${program} has failed: ${last || 'it did not say why'}`);
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
