// Opens, for each test of a file, a mirror with one file and a folder to download it into.
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { type Download, download, patienceDefault } from '../../../src/library/models/download.ts';
import { newFolder } from '../../new-folder.ts';
import { type Mirror, openMirror, sha256Of } from './model-mirror.ts';

export const whole = randomBytes(1_000_000);
export const build = { bytes: whole.length, sha256: sha256Of(whole) };
export const patience = {
  ...patienceDefault,
  stallMs: 20_000,
  pauseMs: 1,
  pauseMsMax: 4,
  retryAfterMsMax: 5_000,
  attemptsMax: 4,
};
const { signal } = new AbortController();

export function openDownloads() {
  const here = { to: '', mirror: undefined as unknown as Mirror };
  beforeEach(async () => {
    here.to = join(newFolder(), 'file');
    here.mirror = await openMirror({ file: whole });
  });
  afterEach(() => here.mirror[Symbol.asyncDispose]());

  const fetchIt = (options: Partial<Download> = {}) =>
    download({ url: `${here.mirror.url}/file`, to: here.to, builds: [build], signal, patience, ...options });
  const there = async () => (await readdir(join(here.to, '..'))).sort();
  const expectWhole = async () => {
    expect(sha256Of(await readFile(here.to))).toBe(build.sha256);
    expect(await there()).toEqual(['file']);
  };
  return { here, fetchIt, there, expectWhole };
}
