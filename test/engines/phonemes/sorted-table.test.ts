// Tests tables in files: each key is found, and no other.
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openTable, toTable } from '../../../src/engines/phonemes/sorted-table.ts';
import { newFolder } from '../../new-folder.ts';

const folder = newFolder(afterAll);
const path = join(folder, 'table.txt');

const keys = ['a', 'A', "a'", 'ab', 'a b', 'é', 'ﬁ', '😀', 'zz', 'z', '-', '0'];
const entries = [...keys, ...Array.from({ length: 500 }, (_, n) => `word${n}`)].map(
  (key) => [key, `<${key}>`] as const,
);

test('each key has its value, and other keys have none', () => {
  writeFileSync(path, toTable(entries));
  const table = openTable(path);
  for (const [key, value] of entries) expect(table(key)).toBe(value);
  for (const key of ['', 'aa', 'word', 'word5000', 'zzz', 'a\t<a>', '\n', '\u{10FFFF}'])
    expect(table(key)).toBeUndefined();
});

test('a table of no or one entry, and one that was cut off, can be searched', () => {
  writeFileSync(path, toTable([]));
  expect(openTable(path)('a')).toBeUndefined();
  writeFileSync(path, toTable([['b', '']]));
  expect(['a', 'b', 'c'].map(openTable(path))).toEqual([undefined, '', undefined]);
  writeFileSync(path, toTable(entries));
  truncateSync(path, 1000);
  const table = openTable(path);
  expect(entries.filter(([key, value]) => table(key) === value).length).toBeGreaterThan(50);
});
