// Tests the script that npm runs after an install: it compiles the code for a first startup, whatever the settings, and
// leaves nothing else.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from './new-folder.ts';

const root = join(import.meta.dirname, '..');
const countFiles = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

test('an install compiles what the first start runs, without settings, and leaves no folder', async () => {
  const folder = newFolder();
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
  const settings = {
    SONANT_FETCH_VOICE: 'off',
    SONANT_DATA_DIR: folder,
    SONANT_HTTP_ADDR: '127.0.0.1:0',
    SONANT_GRPC_ADDR: '127.0.0.1:0',
  };
  const service = spawn(process.execPath, [join(root, 'src/sonant.js'), 'serve'], {
    cwd: folder,
    env: { ...env, ...settings },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for await (const said of service.stdout) if (String(said).includes('Sonant serves')) break;
  service.kill('SIGTERM');
  await once(service, 'exit');
  // Some packages load a file only when one of their functions is called.
  expect(countFiles(compiled) - before).toBeLessThan(5);
}, 60_000);

test('npm runs it, and an install does not fail by it', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(scripts.postinstall).toBe('node src/precompile.js || exit 0');
});
