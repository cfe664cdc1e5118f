// The README's commands run as they are written, in order, in a copy of the checkout; only `npm ci`, which has run, is
// left out. Blocks marked `sh` are run; the others show what needs more than a checkout. Its table of settings is
// held to the code.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allSettings } from '../src/config.ts';
import { registry } from '../src/engines/registry.ts';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-readme-'));
  for (const part of ['package.json', 'src', 'gen']) cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('every shell block runs', async () => {
  const blocks = [...readme.matchAll(/^```sh( serve)?\n(.*?)^```/gms)];
  expect(blocks.length).toBeGreaterThan(3);
  let service: ChildProcess | undefined;
  try {
    for (const [, serves, block] of blocks) {
      const commands = block!.replace(/^npm ci$/m, '');
      if (serves) service = await start(commands);
      else execFileSync('sh', ['-e', '-c', commands], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    }
  } finally {
    if (service?.pid) process.kill(-service.pid, 'SIGTERM');
  }
  for (const file of ['hello.wav', 'reader.wav', 'letter.mp3', 'piped.pcm']) {
    expect(statSync(join(folder, file)).size).toBeGreaterThan(5000);
  }
});

/** Runs what does not end by itself, and waits until it says that it serves. */
function start(commands: string): Promise<ChildProcess> {
  const service = spawn('sh', ['-c', commands], { cwd: folder, detached: true });
  return new Promise((resolve, reject) => {
    let said = '';
    service.stdout.on('data', (bytes) => {
      said += bytes;
      if (said.includes('Sonant serves')) resolve(service);
    });
    service.once('exit', () => reject(new Error(`it ended: ${said}`)));
  });
}

test('every setting is in its table', () => {
  const documented = [...readme.matchAll(/^\| `(SONANT_\w+)`/gm)].map((match) => match[1]);
  expect(documented).toEqual(allSettings(registry).map(({ name }) => name));
});
