// What npm runs after an install, and the build of the image: compiles the code, so that the first start takes less than
// half the time. It speaks a word without settings in a temporary folder: Node keeps what was compiled for what ran.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import './node-version.js';
import './compile-cache.js';
import './quick-imports.js';

for (const name of Object.keys(process.env)) if (name.startsWith('SONANT_')) delete process.env[name];
const folder = mkdtempSync(join(tmpdir(), 'sonant-precompile-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// A sonant.toml of the folder where npm runs is no concern of this.
process.chdir(folder);
process.env.SONANT_DATA_DIR = folder;
process.argv.splice(2, Number.POSITIVE_INFINITY, 'say', 'Hello.', '--output', 'hello.wav');
// Loaded by `say` are the commands and the speech, but neither API.
await import('./cli/serve.ts');
await import('./app/app.ts');
await import('./sonant.js');
