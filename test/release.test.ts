// Tests that `npm run release` sets the version everywhere, and turns the changelog's unreleased part into a section.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageFile from '../package.json' with { type: 'json' };
import { newFolder } from './new-folder.ts';

const root = join(import.meta.dirname, '..');
const versions = (folder: string): string[] => {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const texts = globSync(['deploy/**/{Dockerfile,*.{xml,yaml,yml}}', 'docs/*.md'], { cwd: folder });
  return [
    JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version,
    lock.version,
    lock.packages[''].version,
    ...texts.flatMap(
      (path) =>
        readFileSync(join(folder, path), 'utf8').match(
          /(?<=\bsonant:|\bsonant-server-|\bnewTag: |^ *version: )\d+\.\d+\.\d+/gm,
        ) ?? [],
    ),
  ];
};

test('one version stands everywhere', () => {
  expect([...new Set(versions(root))]).toEqual([packageFile.version]);
});

test('a release sets it and writes a section of the changelog once', () => {
  const folder = newFolder();
  for (const path of ['package.json', 'package-lock.json', 'deploy', 'docs/deploy.md', 'docs/quick-start.md'])
    cpSync(join(root, path), join(folder, path), { recursive: true });
  const [head, notes] = [
    '# Changelog\n\n## [Unreleased]\n',
    '\n### Fixed\n\n- One.\n\n## [0.1.0] - 2026-11-21\n\n- Two.\n',
  ];
  writeFileSync(join(folder, 'CHANGELOG.md'), head + notes);
  const release = (version: string) =>
    spawnSync(process.execPath, [join(root, '.ci/release.ts'), version, folder], { encoding: 'utf8' });
  expect(release('next')).toMatchObject({ status: 1, stderr: 'usage: npm run release VERSION, such as 0.2.0\n' });
  expect(release('9.8.7')).toMatchObject({ status: 0, stdout: expect.stringContaining('git tag -a v9.8.7') });
  expect([...new Set(versions(folder))]).toEqual(['9.8.7']);
  const day = new Date().toISOString().slice(0, 10);
  expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toBe(`${head}\n## [9.8.7] - ${day}\n${notes}`);
  expect(release('9.8.7')).toMatchObject({ status: 1, stderr: 'CHANGELOG.md already has a section 9.8.7\n' });
  expect(release('9.8.8')).toMatchObject({ status: 1, stderr: 'CHANGELOG.md lists nothing under Unreleased\n' });
});
