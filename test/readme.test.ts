// The README's commands run as they are written, in order, in a copy of the checkout; only `npm ci`, which has run, is
// left out. Blocks marked `sh` are run; the others show what needs more than a checkout. Its table of settings is
// held to the code.
import { execFileSync } from 'node:child_process';
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

test('every shell block runs', () => {
  const blocks = [...readme.matchAll(/^```sh\n(.*?)^```/gms)].map((match) => match[1]!);
  expect(blocks.length).toBeGreaterThan(3);
  for (const block of blocks) {
    const commands = block.replace(/^npm ci$/m, '');
    execFileSync('sh', ['-e', '-c', commands], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  }
  for (const file of ['hello.wav', 'letter.mp3', 'piped.pcm'])
    expect(statSync(join(folder, file)).size).toBeGreaterThan(5000);
});

test('every setting is in its table', () => {
  const documented = [...readme.matchAll(/^\| `(SONANT_\w+)`/gm)].map((match) => match[1]);
  expect(documented).toEqual(allSettings(registry).map(({ name }) => name));
});
