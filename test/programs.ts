// Programs that some tests measure with or run. Before the tests, one line is printed for each that is not here; the
// tests that need it are skipped. `.ci/run` installs them all.
import { existsSync } from 'node:fs';
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
  haproxy: 'haproxy',
  pocketsphinx_batch: 'pocketsphinx pocketsphinx-en-us',
  radosgw: 'radosgw',
  sox: 'sox',
} as const;

export type Program = keyof typeof packages;

export const isInstalled = (program: Program): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

/** Run by vitest once, before all tests. */
export function setup(): void {
  for (const [program, pack] of Object.entries(packages)) {
    if (!isInstalled(program as Program))
      console.log(`not found: ${program} (apt-get install ${pack}); tests that need it are skipped`);
  }
}
