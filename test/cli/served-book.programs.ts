// Tests `sonant book --server URL`: after an interrupt or a kill, the same command continues with its job.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serve } from './serving-program.ts';
import { main, runSonant } from './sonant-program.ts';

let folder: string;
let service: Awaited<ReturnType<typeof serve>>;
const closers: (() => Promise<void>)[] = [];
const ms = 120_000;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-served-book-'));
  service = await serve([], {}, (close) => closers.push(close));
  const said = 'The keeper wrote the day and the weather into the ledger. ';
  writeFileSync(join(folder, 'long.txt'), [1, 2].map((n) => `Chapter ${n}\n\n${said.repeat(30)}`).join('\n\n'));
}, ms);
afterAll(async () => {
  for (const close of closers) await close();
  rmSync(folder, { recursive: true });
});

const book = (...args: string[]) => runSonant(folder, ['book', ...args]);
const atService = (...args: string[]) => book(...args, '--server', service.url, '--key', service.key);
const read = (name: string) => readFileSync(join(folder, name));
const jobs = async (): Promise<{ id: string; status: string }[]> => {
  const reply = await fetch(`${service.url}/api/audio/jobs`, { headers: { 'x-api-key': service.key } });
  return ((await reply.json()) as { jobs: { id: string; status: string }[] }).jobs;
};

test(
  'goes on with its job where it was interrupted',
  async () => {
    const before = await jobs();
    const work = join(folder, 'long.mp3.work');
    const env = { ...process.env, SONANT_API_KEY: service.key };
    const args = ['book', 'long.txt', '-o', 'long.mp3', '--server', service.url];
    const job = () => JSON.parse(readFileSync(join(work, 'job.json'), 'utf8'));
    const ids = new Set<string>();
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const program = spawn(process.execPath, [main, ...args], { cwd: folder, env });
      let said = '';
      program.stderr.on('data', (bytes) => {
        said += bytes;
      });
      const ended = once(program, 'close');
      while (!existsSync(join(work, 'job.json'))) await sleep(5);
      ids.add(job().id);
      while ((await jobs()).length === before.length) await sleep(20);
      // Only one process at a time may run the same command.
      if (signal === 'SIGINT') expect((await atService('long.txt', '-o', 'long.mp3')).err).toContain('another command');
      program.kill(signal);
      const [code, killed] = await ended;
      expect(code ?? killed).toBe(signal === 'SIGINT' ? 130 : 'SIGKILL');
      if (signal === 'SIGINT') expect(said).toContain('run the same command to download the result');
      expect(existsSync(join(folder, 'long.mp3'))).toBe(false);
    }
    const here = await book('long.txt', '-o', 'long.mp3');
    expect([here.code, here.err]).toEqual([2, expect.stringContaining('add --server')]);
    // Gives the same flags in a different order.
    const last = await atService('-o', 'long.mp3', 'long.txt', '--json');
    expect([last.code, last.err]).toEqual([0, '']);
    ids.add(JSON.parse(last.out).job_id);
    expect(ids.size).toBe(1);
    expect((await jobs()).length).toBe(before.length + 1);
    expect(read('long.mp3').toString('latin1', 0, 3)).toBe('ID3');
    expect(existsSync(work)).toBe(false);
  },
  ms,
);
