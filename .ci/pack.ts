// Makes the npm package: `npm run pack [FOLDER]` writes its tarball into FOLDER (default: the checkout) and prints the
// path. The package contains JavaScript, because Node does not strip types below node_modules. It has no install script
// and no dependency on Node's own packages; clients of cloud services are optional peers. Some dependencies are included
// as copies without the files that Sonant does not use, because those files would take a third of the installed size.
// It contains a natural voice, which this script fetches.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import packageFile from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };
import { readCommit } from '../src/platform/runtime/installation.ts';
import { hasTable } from '../src/text/language-table.ts';
import { fetchVoice } from './fetch-voice.ts';

/** Also stated in docs/quick-start.md. Has a scope, because the name alone is taken. */
const name = '@sonant/server';

/** Optional peers, which the operator installs to use a cloud service. */
const services = ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner'];

const root = join(import.meta.dirname, '..');
const modules = join(root, 'node_modules');
const languages = (folder: string) =>
  globSync('*.json', { cwd: join(modules, folder) })
    .map((file) => file.replace('.json', ''))
    .filter(hasTable);

interface Copy {
  files: readonly string[];
  /** Dependencies of the package that its remaining files do not load. */
  without?: readonly string[];
  /** Whether to fetch it as published, because an install deletes files that other platforms load. */
  isFetched?: boolean;
}

/** Dependencies to include, with the files that Sonant uses. Scripts are left out: npm warns of those that it skips. */
const copies: Readonly<Record<string, Copy>> = {
  // Omits the source of SQLite, and the build file that makes npm compile it.
  'better-sqlite3': { files: ['LICENSE', 'lib/**', 'prebuilds/**'], without: ['node-addon-api'], isFetched: true },
  // Includes only the languages whose numbers Sonant speaks.
  'cldr-rbnf': { files: ['LICENSE', ...languages('cldr-rbnf/rbnf').map((code) => `rbnf/${code}.json`)] },
  // Includes only the smallest of four models.
  eld: { files: ['LICENSE', 'src/*.js', 'src/*/*extrasmall.js'] },
  // Omits the source of the binary, which is in packages of its own.
  koffi: { files: ['LICENSE.txt', 'in*.{js,cjs}', 'src/koffi/**/*.{js,cjs}'] },
  // Includes only the build for the processor, which contains what it needs.
  'onnxruntime-web': {
    files: ['dist/ort.wasm.bundle.min.mjs', 'dist/ort-wasm-simd-threaded.wasm'],
    without: ['flatbuffers', 'guid-typescript', 'long', 'onnxruntime-common', 'platform', 'protobufjs'],
  },
  // Includes one of three builds, without source maps and without the package that reports installations.
  'swagger-ui-dist': {
    files: ['LICENSE', 'NOTICE', 'swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt'],
    without: ['@scarf/scarf'],
  },
};

/** Returns the folder of a dependency as its lock entry states it. */
function fetchPublished(each: string): string {
  const packages: Record<string, { version?: string; integrity?: string }> = lock.packages;
  const { version, integrity } = packages[`node_modules/${each}`]!;
  const folder = mkdtempSync(join(tmpdir(), 'sonant-published-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const npm = ['pack', `${each}@${version}`, '--json', '--pack-destination', folder];
  const [tarball] = JSON.parse(execFileSync('npm', npm, { encoding: 'utf8' }));
  if (tarball.integrity !== integrity) throw new Error(`${each} ${version} is not the package of package-lock.json.`);
  execFileSync('tar', ['-xzf', tarball.filename], { cwd: folder });
  return join(folder, 'package');
}

const target = resolve(process.argv[2] ?? root);
const stage = mkdtempSync(join(tmpdir(), 'sonant-pack-'));
process.on('exit', () => rmSync(stage, { recursive: true, force: true }));

const read = (path: string) => readFileSync(join(root, path), 'utf8');
function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  // Fails if the file exists, because a script of a page may have the name of a compiled file.
  writeFileSync(join(stage, path), content, { flag: 'wx' });
}
const list = (pattern: string, folder = root) =>
  globSync(pattern, { cwd: folder, withFileTypes: false }).filter((path) => !path.endsWith('.d.ts'));
/** Renames files to .js in imports, and in URLs of threads and processes. */
const toJavaScriptNames = (code: string) => code.replaceAll(/(['"]\.\.?\/[^'"\n]+)\.ts(?=['"])/g, '$1.js');

const stubs = list('gen/**/*.ts');
for (const path of [...list('src/*.js'), ...list('src/**/*.ts'), ...stubs]) {
  if (path === 'gen/openapi.ts') continue;
  const code = path.endsWith('.ts') ? stripTypeScriptTypes(read(path)) : read(path);
  write(path.replace(/\.ts$/, '.js'), toJavaScriptNames(code));
}
const assets = [
  'src/**/*.{css,json,sql,svg,toml}',
  'src/*/**/*.js',
  'gen/*.wasm',
  'proto/**/*.proto',
  'docs/*.{md,json}',
];
const documents = ['LICENSE', 'NOTICE', 'README.md', 'CHANGELOG.md'];
for (const path of [...assets.flatMap((pattern) => list(pattern)), ...documents].filter(
  (path) => !path.endsWith('tsconfig.json'),
))
  write(path, readFileSync(join(root, path)));

const compile = ['--ignoreConfig', '--declaration', '--emitDeclarationOnly', '--rootDir', root, '--outDir', stage];
const language = ['--module', 'nodenext', '--target', 'es2024', '--types', 'node', '--allowImportingTsExtensions'];
execFileSync('tsc', [...compile, ...language, '--rewriteRelativeImportExtensions', '--skipLibCheck', ...stubs], {
  cwd: root,
  stdio: 'inherit',
});
for (const path of globSync('gen/**/*.d.ts', { cwd: stage }))
  writeFileSync(join(stage, path), toJavaScriptNames(readFileSync(join(stage, path), 'utf8')));

type Packages = Record<string, string>;
const only = (packages: Packages, isKept: (each: string) => boolean): Packages =>
  Object.fromEntries(Object.entries(packages).filter(([each]) => isKept(each)));

/** Dependencies of the copies. npm installs none for included packages, so this package depends on them directly. */
const further = { dependencies: {} as Packages, optionalDependencies: {} as Packages };
for (const [each, { files, without = [], isFetched }] of Object.entries(copies)) {
  const from = isFetched ? fetchPublished(each) : join(modules, each);
  const to = join('node_modules', each);
  for (const path of files.flatMap((pattern) => globSync(pattern, { cwd: from })))
    if (statSync(join(from, path)).isFile()) cpSync(join(from, path), join(stage, to, path));
  const copied = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  const { dependencies = {}, optionalDependencies = {}, scripts: _, devDependencies: __, ...rest } = copied;
  const kept = only(dependencies, (name) => !without.includes(name));
  Object.assign(further.dependencies, kept);
  Object.assign(further.optionalDependencies, optionalDependencies);
  write(join(to, 'package.json'), JSON.stringify({ ...rest, dependencies: kept, optionalDependencies }, null, 2));
}

const { version, description, license, type, engines, bin, dependencies, optionalDependencies } = packageFile;
const all = { ...dependencies, ...optionalDependencies };
const { GITHUB_SERVER_URL = '', GITHUB_REPOSITORY } = process.env;
const isService = (each: string) => services.includes(each);
const isNode = (each: string) => /^node-(darwin|linux|win)-/.test(each);
const manifest = {
  ...{ name, version, description, license, type, engines, bin },
  gitHead: readCommit(),
  // npm compares the repository with the publishing workflow, which proves the package's origin.
  ...(GITHUB_REPOSITORY && { repository: { type: 'git', url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git` } }),
  exports: {
    './gen/*.js': './gen/*.js',
    './openapi': { types: './gen/openapi.d.ts' },
    './openapi.json': './docs/openapi.json',
    './proto/*': './proto/*',
    './package.json': './package.json',
  },
  files: ['src', 'gen', 'proto', 'docs', 'voices', 'NOTICE', 'CHANGELOG.md'],
  publishConfig: { access: 'public' },
  dependencies: { ...only(dependencies, (each) => !isService(each)), ...further.dependencies },
  optionalDependencies: {
    ...only(optionalDependencies, (each) => !isService(each) && !isNode(each)),
    ...further.optionalDependencies,
  },
  peerDependencies: Object.fromEntries(
    Object.entries(only(all, isService)).map(([each, known]) => [each, `^${known}`]),
  ),
  peerDependenciesMeta: Object.fromEntries(services.map((each) => [each, { optional: true }])),
  bundleDependencies: Object.keys(copies),
};
write('package.json', `${JSON.stringify(manifest, null, 2)}\n`);

fetchVoice(join(stage, 'voices'));
mkdirSync(target, { recursive: true });
const made = execFileSync('npm', ['pack', '--json', '--pack-destination', target], { cwd: stage, encoding: 'utf8' });
const [{ filename }] = JSON.parse(made);
console.log(join(target, filename));
