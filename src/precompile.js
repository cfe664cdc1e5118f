// Fills the compile cache after an install and in the image build, which more than halves the first startup time. Node
// caches only code that ran, so this script speaks a word, without settings and in a temporary folder.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import './start.js';

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
