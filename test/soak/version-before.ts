// Opens an earlier version of Sonant from its own commit, in a new folder: with the installed packages if that version
// requires the same packages, and otherwise with its own.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';

export interface VersionBefore {
  commit: string;
  /** Path of that version's main program. */
  main: string;
  /** The speech service in that version's stubs. */
  service: typeof SpeechService;
  remove(): void;
}

const root = join(import.meta.dirname, '../..');
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, maxBuffer: 1 << 28 });
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

export async function openVersionBefore(name: string): Promise<VersionBefore> {
  const commit = git('rev-parse', '--short', `${name}^{commit}`).toString().trim();
  const folder = mkdtempSync(join(tmpdir(), 'sonant-soak-before-'));
  const remove = () => rmSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
  const { dependencies } = readJson(join(folder, 'package.json')) as { dependencies: Record<string, string> };
  const others = Object.entries(dependencies).some(([each, version]) => {
    const path = join(root, 'node_modules', each, 'package.json');
    return !existsSync(path) || readJson(path).version !== version;
  });
  if (others) execFileSync('npm', ['ci', '--omit=dev'], { cwd: folder });
  else symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const { SpeechService: service } = await import(join(folder, 'gen/sonant/v1/speech_pb.ts'));
  return { commit, main: join(folder, 'src/main.ts'), service, remove };
}
