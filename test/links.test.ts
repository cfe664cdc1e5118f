// Tests that links between Sonant's Markdown files lead to existing files and headings, by the anchors of GitHub.
import { existsSync, globSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { readPage, root } from './document-blocks.ts';

const files = [
  ...globSync('*.md', { cwd: root }),
  ...globSync('{docs,deploy,examples,bench,test,proto}/**/*.md', {
    cwd: root,
    exclude: (name) => name.includes('node_modules'),
  }),
];

/** The text outside code. */
const proseOf = (page: string) =>
  readPage(page)
    .replace(/^(`{3,}).*?^\1$/gms, '')
    .replace(/`[^`\n]+`/g, (code) => code.replaceAll(/[[\]()]/g, ''));

/** Lower case, without punctuation, with hyphens for spaces; a second heading with the same name gets -1. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of proseOf(page).matchAll(/^#{1,6} +(.+?)\s*$/gm)) {
    const slug = heading!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

test('every link to a file or heading of the repository resolves', () => {
  const broken: string[] = [];
  let count = 0;
  for (const file of files) {
    for (const [, target] of proseOf(file).matchAll(/\]\(<?([^)\s>]+)>?\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      count++;
      const [path, anchor] = target!.split('#');
      const there = path === '' ? file : normalize(join(dirname(file), path!));
      const isFile = existsSync(join(root, there)) && statSync(join(root, there)).isFile();
      const leads = anchor === undefined || (isFile && anchorsOf(there).has(anchor));
      if (!existsSync(join(root, there)) || !leads) broken.push(`${file}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
  expect(count).toBeGreaterThan(50);
});

test('every file that the maps of the source name exists', () => {
  const [, table] = readPage('CONTRIBUTING.md').split(/^### Where is it\?|^## Add a field/m);
  const maps = `${readPage('docs/architecture.md')}${table}`;
  const named = [...maps.matchAll(/`([\w/-]+\.(?:ts|sql))`/g)].map(([, path]) => path!);
  const places = ['src', 'src/transports'].map((folder) => join(root, folder));
  expect(named.filter((path) => !places.some((place) => existsSync(join(place, path))))).toEqual([]);
  expect(named.length).toBeGreaterThan(80);
});
