// Tests that all tests named by the threat model exist.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('every test that the threat model names exists', () => {
  const pages = read('docs/threat-model.md') + read('docs/reliability.md');
  const named = [...pages.matchAll(/\| (test\/\S+?): (.+?) \|$/gm)];
  expect(named.length).toBeGreaterThan(25);
  const missing = named.filter(([, file, name]) => !read(file!).includes(name!)).map(([line]) => line);
  expect(missing).toEqual([]);
});
