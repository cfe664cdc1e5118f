// Tests `sonant say` as a program: signals during a wait, named and unnamed pipes, shell descriptors, and full disks.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { newFolder } from '../../new-folder.ts';
import { main, runSonant, untilWaiting } from './sonant-program.ts';
import { wavOf } from './wav-header.ts';

const folder = newFolder(afterAll);

/** Runs the command with a shell's redirections in a new data folder. */
const shell = (command: string, before = '', dataDir = mkdtempSync(join(folder, 'data-'))) =>
  spawnSync('sh', ['-c', `${before} "${process.execPath}" "${main}" ${command}`], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, SONANT_DATA_DIR: dataDir },
  });

test('interrupted while it waits for its text, it ends too', async () => {
  const child = spawn(process.execPath, [main, 'say', '-o', 'never.wav'], { cwd: folder });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await untilWaiting(child);
  child.kill('SIGINT');
  expect(await ended).toBe(130);
});

test.each([
  ['nobody writes into', ['-i', 'fifo', '-o', 'never.wav']],
  ['nobody reads from', ['Hi.', '-o', 'fifo', '-f', 'wav']],
])('a pipe with a name that %s is waited for until the first interrupt', async (_, args) => {
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', ['-m', '600', fifo]);
  onTestFinished(() => rmSync(fifo));
  const child = spawn(process.execPath, [main, 'say', ...args], { cwd: folder });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await untilWaiting(child);
  child.kill('SIGINT');
  expect(await ended).toBe(130);
});

test('pipes with names are read to their end and written to their end', async () => {
  execFileSync('mkfifo', [join(folder, 'in'), join(folder, 'out')]);
  const child = spawn('sh', ['-c', 'echo Hello. > in & cat out > heard.wav'], { cwd: folder });
  const ended = new Promise((resolve) => child.once('close', resolve));
  expect((await runSonant(folder, ['say', '-i', 'in', '-o', 'out', '-f', 'wav'])).code).toBe(0);
  await ended;
  const heard = readFileSync(join(folder, 'heard.wav'));
  expect(wavOf(heard)).toMatchObject({ rateHz: 44100, dataBytes: 0xffffffff });
  expect(heard.length).toBeGreaterThan(20_000);
});

test('a file that the shell opened gets its true sizes, unless the sound is added to it', async () => {
  const say = (where: string) =>
    execFileSync('sh', ['-c', `"${process.execPath}" "${main}" say Hello. ${where}`], { cwd: folder });
  say('> shell.wav');
  const file = readFileSync(join(folder, 'shell.wav'));
  const { start, dataBytes } = wavOf(file);
  expect(start + dataBytes).toBe(file.length);
  say('>> shell.wav');
  say('>> added.wav');
  expect(readFileSync(join(folder, 'shell.wav')).subarray(0, file.length)).toEqual(file);
  expect(statSync(join(folder, 'added.wav')).size).toBe(file.length);
}, 120_000);

test('a reader that closes the pipe ends it quietly', async () => {
  for (const command of ['say', 'voice list --json']) {
    const script = `"${process.execPath}" "${main}" ${command} | head -c 10 >/dev/null; exit \${PIPESTATUS[0]}`;
    const child = spawn('bash', ['-c', script], { cwd: folder });
    child.stdin.end('This goes on. '.repeat(500));
    const [err, code] = await Promise.all([
      readAll(child.stderr),
      new Promise((resolve) => child.once('close', resolve)),
    ]);
    expect(err).toBe('');
    expect([0, 141]).toContain(code);
  }
});

test('a text with U+FFFD in it is a text, and a file may be standard input', () => {
  writeFileSync(join(folder, 'replaced.txt'), 'one \ufffd two');
  expect(shell('say -o replaced.wav < replaced.txt')).toMatchObject({ status: 0, stderr: '' });
});

test.skipIf(!existsSync('/dev/full'))('a full disk is reported in one line', async () => {
  const fault = 'the disk is full\n';
  const file = await runSonant(folder, ['say', 'Hi.', '-o', '/dev/full', '-f', 'wav']);
  expect(file).toMatchObject({ code: 1, err: `sonant: cannot write /dev/full: ${fault}` });
  const dataDir = mkdtempSync(join(folder, 'data-'));
  shell('db migrate', '', dataDir);
  for (const command of ['say Hi.', 'voice list', 'key create'])
    expect(shell(`${command} > /dev/full`, '', dataDir)).toMatchObject({
      status: 1,
      stderr: `sonant: cannot write to standard output: ${fault}`,
    });
});

test('a file that may grow no further is reported, and deleted', () => {
  const limited = shell('say Hello. -o limited.wav', "ulimit -f 8; trap '' XFSZ;");
  expect(limited).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^sonant: cannot write limited\.wav: file too large\n$/),
  });
  expect(readdirSync(folder).filter((name) => name.startsWith('limited'))).toEqual([]);
});

test('standard output that is closed is reported, and one that is discarded is not', () => {
  const closed = shell('say Hi. >&-');
  expect(closed).toMatchObject({ status: 1, stderr: expect.stringContaining('standard output is closed') });
  expect(shell('say Hi. > /dev/null')).toMatchObject({ status: 0, stderr: '' });
});
