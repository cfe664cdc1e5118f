// Opens an earlier version of Sonant from its own commit, in a new folder: with the installed packages, if that version
// requires the same packages.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
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
  const others = Object.entries(dependencies).filter(
    ([each, version]) => readJson(join(root, 'node_modules', each, 'package.json')).version !== version,
  );
  if (others.length > 0) {
    remove();
    throw new Error(
      `${commit} needs other packages than those installed: ${others.map((each) => each.join(' ')).join(', ')}`,
    );
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const { SpeechService: service } = await import(join(folder, 'gen/sonant/v1/speech_pb.ts'));
  return { commit, main: join(folder, 'src/main.ts'), service, remove };
}
