// Compiles the code after an install and in the build of the image, so that the first start takes less than half the time. Node stores
// compiled code only of what ran, so this speaks a word, without settings and in a temporary folder.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import './start.js';

for (const name of Object.keys(process.env)) if (name.startsWith('SONANT_')) delete process.env[name];
const folder = mkdtempSync(join(tmpdir(), 'sonant-precompile-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// Ignores a sonant.toml in the folder where npm runs.
process.chdir(folder);
process.env.SONANT_DATA_DIR = folder;
process.argv.splice(2, Number.POSITIVE_INFINITY, 'say', 'Hello.', '--output', 'hello.wav');
// `say` loads the commands and speech, but not the APIs.
await import('./cli/serve.ts');
await import('./app/service.ts');
await import('./sonant.js');
