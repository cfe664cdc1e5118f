// How this copy of Sonant is installed: as a checkout, whose files are TypeScript, or as the npm package, whose files
// `npm run pack` has compiled. Gives the version, the commit and the default data folder.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };

export const isCheckout = import.meta.url.endsWith('.ts');
const root = join(import.meta.dirname, '../..');

interface Release {
  version: string;
  /** Undefined if neither git nor the package knows it. */
  commit: string | undefined;
}

export const readRelease = (): Release => ({
  version: packageFile.version,
  // The package carries the commit; a checkout asks git.
  commit: (packageFile as { gitHead?: string }).gitHead ?? readGitCommit(),
});

/** `0.2.0 (commit 0123456789ab)`. */
export function versionText(): string {
  const { version, commit } = readRelease();
  return commit === undefined ? version : `${version} (commit ${commit})`;
}

/** Ends with `-dirty` if files differ from the commit. */
function readGitCommit(): string | undefined {
  // Without this check, git would report the commit of a repository around this folder.
  if (!existsSync(join(root, '.git'))) return undefined;
  const args = ['--no-optional-locks', 'describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: [...stdio], timeout: 5_000 }).trim();
  } catch {
    return undefined;
  }
}

/** In a checkout, a folder of the working directory; otherwise a folder of the user, because npx runs anywhere. */
export function defaultDataDir(): string {
  if (isCheckout) return './data';
  const { XDG_DATA_HOME = '', LOCALAPPDATA = '' } = process.env;
  const usual = { darwin: 'Library/Application Support', win32: 'AppData/Local' } as Readonly<Record<string, string>>;
  // The XDG specification requires relative paths to be ignored.
  const given = [XDG_DATA_HOME, LOCALAPPDATA].find(isAbsolute);
  return join(given ?? join(homedir(), usual[process.platform] ?? '.local/share'), 'sonant');
}
