// Runs after an install and in the image build. Fills the compile cache, which more than halves the first startup time.
// Node caches only code that ran, so this script speaks a word, without settings and in a temporary folder. Deletes what
// nothing uses: headers and manuals of Node (60 MB), the builds of ONNX Runtime for browsers (125 MB), the source of SQLite
// (10 MB), which is not compiled, source maps and other builds of Swagger UI (10 MB), and the larger tables of the language
// detector (8 MB).
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './start.js';

const packages = fileURLToPath(new URL('../node_modules/', import.meta.url));
const nodePackage = dirname(dirname(process.execPath));
if (nodePackage.startsWith(packages))
  for (const name of ['CHANGELOG.md', 'include', 'share'])
    rmSync(join(nodePackage, name), { recursive: true, force: true });
const loaded = ['ort.wasm.bundle.min.mjs', 'ort-wasm-simd-threaded.wasm', 'swagger-ui-bundle.js'];
const unloaded = ['onnxruntime-web/{dist,docs,lib}/**/*.*', 'better-sqlite3/deps/**/*.*', 'swagger-ui-dist/*.{js,map}'];
unloaded.push('eld/src/ngrams/{large,medium,small}.js');
for (const path of globSync(unloaded, { cwd: packages }))
  if (!loaded.includes(basename(path))) rmSync(join(packages, path), { force: true });

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
