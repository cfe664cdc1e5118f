// Makes the npm package: `npm run pack [FOLDER]` writes its tarball into FOLDER (default: the checkout) and prints the path. Node
// does not strip types below node_modules, so the package has the same files as JavaScript. It has no install script and does
// not depend on the package `node`; clients of cloud services are optional peers. Three dependencies are included as copies
// without the files that Sonant does not use, because they would take a third of the installed size.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import packageFile from '../package.json' with { type: 'json' };
import { readRelease } from '../src/runtime/installation.ts';

/** Stated only here. Without a scope, the name is taken. */
const name = '@sonant/server';

/** The operator installs them for a cloud service or Redis, if needed. */
const services = [
  '@aws-sdk/client-s3',
  '@aws-sdk/s3-request-presigner',
  '@google-cloud/text-to-speech',
  'google-gax',
  'ioredis',
];

interface Copy {
  files: readonly string[];
  /** Dependencies of the package that its remaining files do not load. */
  without?: readonly string[];
}

/** Dependencies to include, with the files that Sonant uses. */
const copies: Readonly<Record<string, Copy>> = {
  // Without the source of SQLite and the names of npm's build script, which would compile it.
  'better-sqlite3': { files: ['LICENSE', 'README.md', 'lib/**', 'prebuilds/**'], without: ['node-addon-api'] },
  // Only the smallest of four models.
  eld: { files: ['LICENSE', 'README.md', 'src/*.js', 'src/*/*extrasmall.js'] },
  // Without the bundles for browsers, and without the enhancement of speech by a model, which is off.
  'ogg-opus-decoder': { files: ['README.md', 'index.js', 'src/**'], without: ['@wasm-audio-decoders/opus-ml'] },
};

const root = join(import.meta.dirname, '..');
const target = resolve(process.argv[2] ?? root);
const stage = mkdtempSync(join(tmpdir(), 'sonant-pack-'));
process.on('exit', () => rmSync(stage, { recursive: true, force: true }));

const read = (path: string) => readFileSync(join(root, path), 'utf8');
function write(path: string, text: string): void {
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  writeFileSync(join(stage, path), text);
}
const list = (pattern: string, folder = root) =>
  globSync(pattern, { cwd: folder, withFileTypes: false }).filter((path) => !path.endsWith('.d.ts'));
/** Imports, and URLs of threads and processes. */
const toJavaScriptNames = (code: string) => code.replaceAll(/(['"]\.\.?\/[^'"\n]+)\.ts(?=['"])/g, '$1.js');

const sources = [...list('src/*.js'), ...list('src/**/*.ts'), ...list('gen/**/*_pb.ts')];
for (const path of sources) {
  const code = path.endsWith('.ts') ? stripTypeScriptTypes(read(path)) : read(path);
  write(path.replace(/\.ts$/, '.js'), toJavaScriptNames(code));
}
const assets = [
  'src/**/*.{css,json,lua,svg,toml}',
  'src/*/**/*.js',
  'gen/*.wasm',
  'proto/**/*.proto',
  'docs/*.{md,json}',
];
const documents = ['LICENSE', 'NOTICE', 'README.md', 'CHANGELOG.md'];
for (const path of [...assets.flatMap((pattern) => list(pattern)), ...documents].filter(
  (path) => !path.endsWith('tsconfig.json'),
))
  cpSync(join(root, path), join(stage, path));
write('gen/openapi.d.ts', read('gen/openapi.ts'));

const compile = ['--ignoreConfig', '--declaration', '--emitDeclarationOnly', '--rootDir', root, '--outDir', stage];
const language = ['--module', 'nodenext', '--target', 'es2024', '--types', 'node', '--allowImportingTsExtensions'];
const stubs = list('gen/**/*_pb.ts');
execFileSync('tsc', [...compile, ...language, '--rewriteRelativeImportExtensions', '--skipLibCheck', ...stubs], {
  cwd: root,
  stdio: 'inherit',
});
for (const path of globSync('gen/**/*_pb.d.ts', { cwd: stage }))
  writeFileSync(join(stage, path), toJavaScriptNames(readFileSync(join(stage, path), 'utf8')));

type Packages = Record<string, string>;
const only = (packages: Packages, isKept: (each: string) => boolean): Packages =>
  Object.fromEntries(Object.entries(packages).filter(([each]) => isKept(each)));

for (const [each, { files, without = [] }] of Object.entries(copies)) {
  const from = join(root, 'node_modules', each);
  const to = join('node_modules', each);
  for (const path of files.flatMap((pattern) => globSync(pattern, { cwd: from })))
    if (existsSync(join(from, path))) cpSync(join(from, path), join(stage, to, path), { recursive: true });
  const {
    scripts: _,
    devDependencies: __,
    gypfile: ___,
    dependencies = {},
    ...own
  } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  const kept = only(dependencies, (name) => !without.includes(name));
  write(join(to, 'package.json'), JSON.stringify({ ...own, dependencies: kept }, null, 2));
}

const { version, description, license, type, engines, bin, dependencies, optionalDependencies } = packageFile;
const all = { ...dependencies, ...optionalDependencies };
const isService = (each: string) => services.includes(each);
const manifest = {
  ...{ name, version, description, license, type, engines, bin },
  gitHead: readRelease().commit,
  exports: {
    './gen/*.js': './gen/*.js',
    './openapi': { types: './gen/openapi.d.ts' },
    './openapi.json': './docs/openapi.json',
    './proto/*': './proto/*',
    './package.json': './package.json',
  },
  files: ['src', 'gen', 'proto', 'docs', 'NOTICE', 'CHANGELOG.md'],
  publishConfig: { access: 'public' },
  dependencies: only(dependencies, (each) => each !== 'node' && !isService(each)),
  optionalDependencies: only(optionalDependencies, (each) => !isService(each)),
  peerDependencies: Object.fromEntries(
    Object.entries(only(all, isService)).map(([each, known]) => [each, `^${known}`]),
  ),
  peerDependenciesMeta: Object.fromEntries(services.map((each) => [each, { optional: true }])),
  bundleDependencies: Object.keys(copies),
};
write('package.json', `${JSON.stringify(manifest, null, 2)}\n`);

mkdirSync(target, { recursive: true });
const made = execFileSync('npm', ['pack', '--json', '--pack-destination', target], { cwd: stage, encoding: 'utf8' });
const [{ filename }] = JSON.parse(made);
console.log(join(target, filename));
