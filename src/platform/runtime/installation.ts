// Version, commit and default data folder of this copy of Sonant. The copy is a checkout, which runs TypeScript, or the
// npm package, which `npm run pack` has compiled.
import { execFileSync, type StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import packageFile from '../../../package.json' with { type: 'json' };

const isCheckout = import.meta.url.endsWith('.ts');
export const packageRoot = join(import.meta.dirname, '../../..');

/** The version and the commit, such as `0.2.0 (commit 0123456789ab)`. */
export function versionText(): string {
  const commit = readCommit();
  return commit === undefined ? packageFile.version : `${packageFile.version} (commit ${commit})`;
}

/** The commit stored in the package, or else the checkout's commit, with `-dirty` if files differ from the commit. */
export function readCommit(): string | undefined {
  const { gitHead } = packageFile as { gitHead?: string };
  // Without its own .git, git would report the commit of an enclosing repository.
  if (gitHead !== undefined || !existsSync(join(packageRoot, '.git'))) return gitHead;
  const args = ['--no-optional-locks', 'describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] satisfies StdioOptions;
    return execFileSync('git', args, { cwd: packageRoot, encoding: 'utf8', stdio, timeout: 5_000 }).trim();
  } catch {
    return undefined;
  }
}

/** A checkout uses ./data; a package uses the user's data folder, because npx runs in any directory. */
export function defaultDataDir(): string {
  if (isCheckout) return './data';
  const { XDG_DATA_HOME = '', LOCALAPPDATA = '' } = process.env;
  const usual = { darwin: 'Library/Application Support', win32: 'AppData/Local' } as Readonly<Record<string, string>>;
  // The XDG specification requires relative paths to be ignored.
  const given = [XDG_DATA_HOME, LOCALAPPDATA].find(isAbsolute);
  return join(given ?? join(homedir(), usual[process.platform] ?? '.local/share'), 'sonant');
}
