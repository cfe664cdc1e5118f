// Programs that some tests measure with or run. Before the tests, one line is printed for each that is not here; the
// tests that need it are skipped. `.ci/run` installs them all.
import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Program to Debian package. */
const packages = {
  ceph: 'ceph-common',
  'ceph-mon': 'ceph-mon',
  'ceph-osd': 'ceph-osd',
  chromium: 'chromium',
  'espeak-ng': 'espeak-ng',
  ffmpeg: 'ffmpeg',
  ffprobe: 'ffmpeg',
  fish: 'fish',
  'redis-server': 'redis-server',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
  pocketsphinx_batch: 'pocketsphinx pocketsphinx-en-us',
  postgres: 'postgresql',
  python3: 'python3',
  radosgw: 'radosgw',
  sox: 'sox',
  zsh: 'zsh',
} as const;

/** What does as well. */
const standIns: Partial<Record<Program, 'valkey-server'>> = { 'redis-server': 'valkey-server' };

export type Program = keyof typeof packages;

/** Where servers are that Debian keeps out of the path, the newest version first. */
const beside = ['/usr/sbin', ...globSync('/usr/lib/postgresql/*/bin').sort(byVersion)];

/** The folder that the program is in. */
export const findProgram = (program: Program | 'valkey-server'): string | undefined =>
  [...beside, ...(process.env.PATH ?? '').split(delimiter)].find((folder) => existsSync(join(folder, program)));

export const isInstalled = (program: Program | 'valkey-server'): boolean => findProgram(program) !== undefined;

function byVersion(one: string, other: string): number {
  const [first, second] = [one, other].map((path) => Number(/\d+/.exec(path)));
  return second! - first!;
}

/** Run by vitest once, before all tests. */
export function setup(): void {
  for (const [program, pack] of Object.entries(packages)) {
    if (!isInstalled(program as Program) && !isInstalled(standIns[program as Program] ?? (program as Program)))
      console.log(`not found: ${program} (apt-get install ${pack}); tests that need it are skipped`);
  }
}
