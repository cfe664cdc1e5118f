// Tests `spd-say -o sonant` through Speech Dispatcher itself, on a socket of its own, into PulseAudio's null sink.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { runSonant } from './sonant-program.ts';

const run = promisify(execFile);
const programs = ['speech-dispatcher', 'spd-say', 'pulseaudio', 'parec'] as const;
const canRun = programs.every(isInstalled);
const rateHz = 24_000;
const loud = 300;

const folder = mkdtempSync(join(tmpdir(), 'sonant-spd-'));
const home = join(folder, 'home');
const env: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: home,
  XDG_RUNTIME_DIR: folder,
  PULSE_SERVER: `unix:${join(folder, 'pulse.sock')}`,
  SPEECHD_ADDRESS: `unix_socket:${join(folder, 'spd.sock')}`,
};
const children: ChildProcess[] = [];
/** Times at which pieces with sound were recorded, on the clock of `performance.now`. */
const soundsMs: number[] = [];

const start = (program: string, args: string[]) => {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  return child;
};
const spdSay = (...args: string[]) => run('spd-say', args, { env, timeout: 60_000 });

beforeAll(async () => {
  if (!canRun) return;
  mkdirSync(home);
  const installed = await runSonant(folder, ['speech-dispatcher', 'install'], '', {
    HOME: home,
    SONANT_DATA_DIR: 'data',
  });
  expect(installed.code).toBe(0);
  const modules = [
    '-L',
    'module-null-sink sink_name=test',
    '-L',
    `module-native-protocol-unix socket=${folder}/pulse.sock auth-anonymous=1`,
  ];
  start('pulseaudio', ['-n', '--daemonize=no', '--exit-idle-time=-1', ...modules]);
  await vi.waitFor(() => expect(existsSync(join(folder, 'pulse.sock'))).toBe(true), { timeout: 20_000 });
  cpSync('/etc/speech-dispatcher', join(folder, 'conf'), { recursive: true });
  const place = [
    '-c',
    'unix_socket',
    '-S',
    join(folder, 'spd.sock'),
    '-C',
    join(folder, 'conf'),
    '-L',
    folder,
    '-P',
    join(folder, 'pid'),
  ];
  start('speech-dispatcher', ['-s', '-t', '3600', ...place]);
  const listed = async () => (await spdSay('-O').catch(() => ({ stdout: '' }))).stdout;
  await vi.waitFor(async () => expect(await listed()).toContain('sonant'), { timeout: 90_000, interval: 500 });
  const recorder = start('parec', [
    '--device=test.monitor',
    '--raw',
    `--rate=${rateHz}`,
    '--channels=1',
    '--format=s16le',
    '--latency-msec=10',
  ]);
  recorder.stdout!.on('data', (piece: Buffer) => {
    for (let at = 0; at + 1 < piece.length; at += 2)
      if (Math.abs(piece.readInt16LE(at)) > loud) return void soundsMs.push(performance.now());
  });
}, 180_000);

afterAll(async () => {
  for (const child of children.toReversed()) child.kill();
  await Promise.all(children.map((child) => child.exitCode ?? new Promise((resolve) => child.once('close', resolve))));
  rmSync(folder, { recursive: true, force: true });
});

/** Waits for the first sound after `sinceMs`, and returns how long it took. */
async function firstSoundMs(sinceMs: number): Promise<number> {
  const first = () => soundsMs.find((ms) => ms > sinceMs);
  await expect.poll(first, { timeout: 30_000, interval: 5 }).toBeDefined();
  return first()! - sinceMs;
}

test.skipIf(!canRun)('its voices are listed, and its first sound comes soon', { timeout: 180_000 }, async () => {
  expect((await spdSay('-o', 'sonant', '-L')).stdout).toMatch(/arthur +en-US/);
  const took: number[] = [];
  for (let i = 0; i < 10; i++) {
    const sinceMs = performance.now();
    const said = spdSay('-o', 'sonant', '-w', `Hello number ${i}.`);
    took.push(await firstSoundMs(sinceMs));
    await said;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const sorted = took.toSorted((a, b) => a - b).map(Math.round);
  console.info(`first sound after spd-say began, in ms: ${sorted.join(' ')}`);
  // Includes the startup of spd-say and the latency of PulseAudio, on a machine that may be busy.
  expect(sorted[5]).toBeLessThan(1500);
});

test.skipIf(!canRun)('STOP silences a long message at once', { timeout: 120_000 }, async () => {
  const sinceMs = performance.now();
  await spdSay('-o', 'sonant', 'This sentence goes on and on. '.repeat(20));
  await firstSoundMs(sinceMs);
  const stoppedMs = performance.now();
  await spdSay('-o', 'sonant', '-S');
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const lastMs = soundsMs.at(-1)! - stoppedMs;
  console.info(`last sound after spd-say --stop began: ${Math.round(lastMs)} ms`);
  expect(lastMs).toBeLessThan(2000);
  const again = performance.now();
  await spdSay('-o', 'sonant', '-r', '50', '-p', '20', '-i', '-20', '-w', 'And it speaks again.');
  expect(soundsMs.at(-1)!).toBeGreaterThan(again);
});
