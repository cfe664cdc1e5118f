// Tests the promise to gRPC clients: `.ci/breaking` accepts additions since the last release, and reports everything
// that was renamed or removed.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from './new-folder.ts';
import { hasTool } from './tool-packages.ts';

const root = join(import.meta.dirname, '..');

test.skipIf(!hasTool('@bufbuild/buf'))('a change that breaks clients of the last release fails the check', () => {
  const folder = newFolder();
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], { cwd: folder, stdio: 'pipe' });
  const commit = () => {
    git('add', '-A');
    git('commit', '-q', '--no-gpg-sign', '--allow-empty', '-m', 'a change');
  };
  const file = join(folder, 'proto/sonant/v1/speech.proto');
  const before = readFileSync(join(root, 'proto/sonant/v1/speech.proto'), 'utf8');
  /** The faults reported for a proto that was changed two commits ago. */
  const faultsOf = (changed: string) => {
    expect(changed).not.toBe(before);
    writeFileSync(file, changed);
    commit();
    commit();
    const PATH = [join(root, 'tools/node_modules/.bin'), process.env.PATH].join(delimiter);
    const { status, stdout, stderr } = spawnSync('bash', ['.ci/breaking'], {
      cwd: folder,
      env: { ...process.env, PATH },
    });
    return { status, output: `${stdout}${stderr}` };
  };

  for (const part of ['proto', 'buf.yaml', '.ci']) cpSync(join(root, part), join(folder, part), { recursive: true });
  mkdirSync(join(folder, 'tools'));
  symlinkSync(join(root, 'tools/node_modules'), join(folder, 'tools/node_modules'));
  git('init', '-q');
  commit();
  git('tag', 'v1.0.0');

  const more = before.replace('  // Text to speak, not blank', '  // More.\n  string more = 99;\n$&');
  expect(faultsOf(more)).toEqual({ status: 0, output: '' });
  const other = before
    .replace('string voice_id = 1 ', 'bytes voice_id = 1 ')
    .replace('string text = 2 ', 'string words = 2 ')
    .replace('OUTPUT_FORMAT_MP3 = 3;', 'OUTPUT_FORMAT_MPEG = 3;')
    .replace('rpc EstimateSpeech(', 'rpc Estimate(');
  const { status, output } = faultsOf(other);
  expect(status).toBe(100);
  expect(output).toContain('changed type from "string" to "bytes"');
  expect(output).toContain('changed name from "text" to "words"');
  expect(output).toContain('changed name from "OUTPUT_FORMAT_MP3" to "OUTPUT_FORMAT_MPEG"');
  expect(output).toContain('Previously present RPC "EstimateSpeech"');
});
