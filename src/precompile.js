// Runs after an install and in the image build. Fills the compile cache, which more than halves the first startup time.
// Node caches only code that ran, so this script speaks a word, without settings and in a temporary folder. Deletes what
// nothing uses: headers and manuals of Node (60 MB), the builds of ONNX Runtime for browsers (125 MB), the source of SQLite
// (10 MB), which is not compiled, its builds for other platforms (12 MB), source maps, other builds of Swagger UI (10 MB),
// and the larger tables of the language detector (8 MB).
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './start.js';

const packages = fileURLToPath(new URL('../node_modules/', import.meta.url));
const nodePackage = dirname(dirname(process.execPath));
if (nodePackage.startsWith(packages))
  for (const name of ['CHANGELOG.md', 'include', 'share'])
    rmSync(join(nodePackage, name), { recursive: true, force: true });
const find = (/** @type {string[]} */ ...paths) => globSync(paths, { cwd: packages });
const loaded = new Set([
  ...find('onnxruntime-web/dist/{ort.wasm.bundle.min.mjs,ort-wasm-simd-threaded.wasm}'),
  ...find('swagger-ui-dist/swagger-ui-bundle.js'),
  ...find(`better-sqlite3/prebuilds/${process.platform}*-${process.arch}.node`),
]);
const unloaded = [
  ...find('onnxruntime-web/{dist,docs,lib}/**/*.*', 'better-sqlite3/{deps,prebuilds}/**/*.*', 'swagger-ui-dist/*.js'),
  ...find('eld/src/ngrams/{large,medium,small}.js', '**/*.{js,mjs,cjs,ts,mts,cts,css}.map'),
];
for (const path of unloaded) if (!loaded.has(path)) rmSync(join(packages, path), { force: true });

for (const name of Object.keys(process.env)) if (name.startsWith('SONANT_')) delete process.env[name];
const folder = mkdtempSync(join(tmpdir(), 'sonant-precompile-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// A sonant.toml in the folder where npm runs must have no effect.
process.chdir(folder);
process.env.SONANT_DATA_DIR = folder;
// In a terminal, `say` would print its progress between the lines of npm.
process.stderr.isTTY = false;
process.argv.splice(2, Number.POSITIVE_INFINITY, 'say', 'Hello.', '--output', 'hello.wav');
// `say` does not load the APIs, so the service is imported separately.
await import('./app/cli/serve.ts');
await import('./app/service.ts');
await import('./sonant.js');
