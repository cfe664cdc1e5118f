// What npm runs after an install: compiles what a first start runs, whatever is set, and leaves nothing else.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const countFiles = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

test('an install compiles what the first start runs, without settings, and leaves no folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const compiled = join(folder, 'compiled');
  const env = { PATH: process.env.PATH, TMPDIR: folder, NODE_COMPILE_CACHE: compiled };
  writeFileSync(join(folder, 'sonant.toml'), 'nonsense');
  const precompile = spawnSync(process.execPath, [join(root, 'src/precompile.js')], {
    cwd: folder,
    env: { ...env, SONANT_DATABASE_URL: 'nonsense', SONANT_HTTP_ADDR: 'nonsense' },
    encoding: 'utf8',
  });
  expect(precompile).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(folder).sort()).toEqual(['compiled', 'sonant.toml']);
  const before = countFiles(compiled);
  expect(before).toBeGreaterThan(600);
  rmSync(join(folder, 'sonant.toml'));
  execFileSync(process.execPath, [join(root, 'src/sonant.js'), 'serve', '--help'], { cwd: folder, env });
  expect(countFiles(compiled)).toBe(before);
});

test('npm runs it, and an install does not fail by it', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(scripts.postinstall).toBe('node src/precompile.js || exit 0');
});
