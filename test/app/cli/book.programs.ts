// Tests that `sonant book` continues after it was interrupted or killed. Also tests the loudness of a book's chapters.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFileHead, soundOf } from '../../../src/audio/file-head.ts';
import { newFolder } from '../../new-folder.ts';
import { isInstalled } from '../../programs.ts';
import { sentences } from '../../sentences.ts';
import { main, runSonant } from './sonant-program.ts';

const folder = newFolder(afterAll);
beforeAll(() => {
  const said = 'The keeper wrote the day and the weather into the ledger. ';
  const long = [1, 2, 3].map((n) => `Chapter ${n}\n\n${`${said.repeat(16)}`}`).join('\n\n');
  writeFileSync(join(folder, 'long.txt'), long);
});

const sonant = (...args: string[]) => runSonant(folder, ['book', ...args]);

test.skipIf(!isInstalled('ffmpeg'))('chapters in two voices are equally loud, within 1 LU', async () => {
  const chapter = (n: number) => `# ${n}\n\n${sentences.slice(10 * n, 10 * n + 10).join(' ')}\n\n`;
  writeFileSync(join(folder, 'loud.md'), chapter(0) + chapter(1) + chapter(2));
  const voices = ['--voice', 'arthur', '--voice', '2=clara', '--voice', '3=fergus'];
  const { code, out, err } = await sonant('loud.md', '-o', 'loud.wav', ...voices, '--json');
  expect([code, err]).toEqual([0, expect.any(String)]);
  const loudness = (JSON.parse(out).chapters as { start: number; end: number }[]).map(({ start, end }) => {
    const cut = ['-ss', `${start}`, '-to', `${end}`, '-i', join(folder, 'loud.wav')];
    const { stderr } = spawnSync('ffmpeg', ['-nostats', ...cut, '-af', 'ebur128', '-f', 'null', '-']);
    return Number([...stderr.toString().matchAll(/I:\s+(-[\d.]+) LUFS/g)].at(-1)![1]);
  });
  expect(loudness).toHaveLength(3);
  expect(Math.max(...loudness) - Math.min(...loudness)).toBeLessThanOrEqual(1);
});

test('goes on where it was interrupted, to the same bytes', async () => {
  const data = mkdtempSync(join(folder, 'data-'));
  const options = { cwd: folder, env: { ...process.env, SONANT_DATA_DIR: data } };
  const whole = await sonant('long.txt', '-o', 'whole.mp3');
  expect([whole.code, whole.err]).toEqual([0, '']);
  let interrupted = 0;
  const work = join(folder, 'parts.mp3.work');
  for (let round = 0; round < 20; round++) {
    const program = spawn(process.execPath, [main, 'book', 'long.txt', '-o', 'parts.mp3'], options);
    const ended = once(program, 'exit');
    const before = segmentsIn(work);
    while (program.exitCode === null && segmentsIn(work) < before + 2) await sleep(5);
    program.kill(round % 2 === 0 ? 'SIGINT' : 'SIGKILL');
    const [code, signal] = await ended;
    if (code === 0) break;
    interrupted++;
    expect(code === 130 || signal === 'SIGKILL').toBe(true);
    expect(existsSync(join(folder, 'parts.mp3'))).toBe(false);
    if (interrupted === 2) break;
  }
  expect(interrupted).toBeGreaterThan(0);
  const last = await sonant('long.txt', '-o', 'parts.mp3');
  expect([last.code, last.err]).toEqual([0, '']);
  const audioOf = (name: string) => {
    const file = readFileSync(join(folder, name));
    return soundOf(file, readFileHead(file)!);
  };
  // Only the signatures of the two files differ.
  expect(audioOf('parts.mp3').equals(audioOf('whole.mp3'))).toBe(true);
  expect(existsSync(work)).toBe(false);
}, 240_000);

test('speaks a book again that another version began', async () => {
  const env = { ...process.env, SONANT_DATA_DIR: mkdtempSync(join(folder, 'data-')) };
  const program = spawn(process.execPath, [main, 'book', 'long.txt', '-o', 'old.mp3'], { cwd: folder, env });
  const ended = once(program, 'exit');
  const work = join(folder, 'old.mp3.work');
  while (segmentsIn(work) < 2) await sleep(5);
  program.kill('SIGKILL');
  await ended;
  const database = new Database(join(work, 'work.db'));
  expect(database.prepare("update jobs set fingerprint = 'of another version'").run().changes).toBe(1);
  database.close();
  const { code, err } = await sonant('long.txt', '-o', 'old.mp3', '--json');
  expect([code, err]).toEqual([0, expect.stringMatching(/^sonant: another version of Sonant began this book/)]);
  expect(existsSync(work)).toBe(false);
}, 120_000);

/** Number of stored segments. */
const segmentsIn = (work: string): number =>
  existsSync(join(work, 'audio'))
    ? readdirSync(join(work, 'audio'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        .length
    : 0;
