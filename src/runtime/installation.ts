// How this copy of Sonant is installed: as a checkout, whose files are TypeScript, or as the npm package, whose files
// `npm run pack` has compiled. Gives the version, the commit and the default data folder.
import { execFileSync, type StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };

const isCheckout = import.meta.url.endsWith('.ts');
const root = join(import.meta.dirname, '../..');

/** `0.2.0 (commit 0123456789ab)`. */
export function versionText(): string {
  const commit = readCommit();
  return commit === undefined ? packageFile.version : `${packageFile.version} (commit ${commit})`;
}

/** The commit that the package carries, or else the one of the checkout, with `-dirty` if files differ from it. */
export function readCommit(): string | undefined {
  const { gitHead } = packageFile as { gitHead?: string };
  // git would report the commit of a repository around this folder.
  if (gitHead !== undefined || !existsSync(join(root, '.git'))) return gitHead;
  const args = ['--no-optional-locks', 'describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] satisfies StdioOptions;
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio, timeout: 5_000 }).trim();
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
