// Runs after an install and in the image build. Fills the compile cache, which more than halves the first startup time.
// Node caches only code that ran, so this script speaks a word, without settings and in a temporary folder. Deletes the
// headers and manuals in Node's package, which take 60 MB and which nothing uses.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './start.js';

const packages = fileURLToPath(new URL('../node_modules/', import.meta.url));
const nodePackage = dirname(dirname(process.execPath));
if (nodePackage.startsWith(packages))
  for (const name of ['CHANGELOG.md', 'include', 'share'])
    rmSync(join(nodePackage, name), { recursive: true, force: true });

for (const name of Object.keys(process.env)) if (name.startsWith('SONANT_')) delete process.env[name];
const folder = mkdtempSync(join(tmpdir(), 'sonant-precompile-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// A sonant.toml in the folder where npm runs must have no effect.
process.chdir(folder);
process.env.SONANT_DATA_DIR = folder;
process.argv.splice(2, Number.POSITIVE_INFINITY, 'say', 'Hello.', '--output', 'hello.wav');
// `say` does not load the APIs, so the service is imported separately.
await import('./cli/serve.ts');
await import('./app/service.ts');
await import('./sonant.js');
