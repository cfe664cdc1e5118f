// Prepares a release: `npm run release VERSION [FOLDER]` writes the version into package.json, package-lock.json, and
// the names of the image and the package in deploy/ and docs/. Makes the unreleased part of the changelog a section.
// Commits nothing, and prints the next steps.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [version = '', root = join(import.meta.dirname, '..')] = process.argv.slice(2);
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const write = (path: string, text: string) => writeFileSync(join(root, path), text);
function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) fail('usage: npm run release VERSION, such as 0.2.0');
const changelog = read('CHANGELOG.md');
if (changelog.includes(`\n## [${version}]`)) fail(`CHANGELOG.md already has a section ${version}`);
const [, notes = ''] = changelog.split(/^## /m);
if (!/^\[Unreleased\].*\n- /s.test(notes)) fail('CHANGELOG.md lists nothing under Unreleased');
const day = new Date().toISOString().slice(0, 10);
write('CHANGELOG.md', changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${day}\n`));

for (const path of ['package.json', 'package-lock.json']) {
  const content = JSON.parse(read(path));
  content.version = version;
  if (content.packages) content.packages[''].version = version;
  write(path, `${JSON.stringify(content, null, 2)}\n`);
}
const tag = /(?<=\bsonant:|\bsonant-server-|\bnewTag: |^ *version: )\d+\.\d+\.\d+(-[a-z\d]+(\.[a-z\d]+)*)?/gm;
for (const path of globSync(['deploy/**/{Dockerfile,*.{xml,yaml,yml}}', 'docs/*.md'], { cwd: root }))
  write(path, read(path).replaceAll(tag, version));

console.log(`Version ${version} is set. Next:
  .ci/run all
  git commit -am "Release ${version}" && git tag -a v${version} -m "Sonant ${version}"
  npm run pack, and npm publish of the tarball`);
