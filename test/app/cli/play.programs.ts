// Tests `sonant say --play`: a player receives the complete audio while it is generated, and player errors are
// reported.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findProgram, isInstalled } from '../../programs.ts';
import { runSonant } from './sonant-program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-play-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const nodeFolder = dirname(process.execPath);
/** Installs only an `aplay`, which runs the script. */
function install(script: string): Record<string, string> {
  writeFileSync(join(folder, 'aplay'), `#!/bin/sh\nPATH=/bin:/usr/bin\n${script}\n`);
  chmodSync(join(folder, 'aplay'), 0o755);
  return { PATH: `${folder}:${nodeFolder}`, SONANT_ESPEAK_LIBRARY: '' };
}
const play = (env: Record<string, string>, ...more: string[]) =>
  runSonant(folder, ['say', 'Hello there.', '--play', ...more], '', env);

test('a player gets every sample, at the rate in its arguments', async () => {
  const env = install(`echo "$@" > ${folder}/args; cat > ${folder}/heard`);
  const { code, out } = await play(env, '--sample-rate', '24000', '--json');
  expect(code).toBe(0);
  await runSonant(folder, ['say', 'Hello there.', '-o', 'whole.pcm', '--sample-rate', '24000']);
  expect(readFileSync(join(folder, 'heard')).equals(readFileSync(join(folder, 'whole.pcm')))).toBe(true);
  expect(readFileSync(join(folder, 'args'), 'utf8')).toContain('-r 24000 -c 1');
  expect(JSON.parse(out)).toMatchObject({ output: null, format: 'pcm' });
});

test('the error output of a player is reported', async () => {
  const failed = { code: 1, out: '', err: 'sonant: the player aplay failed: no sound card\n' };
  expect(await play(install('echo "no sound card" >&2; exit 1'))).toEqual(failed);
  // The player exits while more data arrives than a pipe holds.
  const long = 'A sentence that takes a while to say. '.repeat(20);
  const env = install('echo "no sound card" >&2; sleep 0.2; exit 1');
  expect(await runSonant(folder, ['say', long, '--play'], '', env)).toEqual(failed);
  expect(await play(install('cat > /dev/null; echo "no sound card" >&2; exit 1'))).toEqual(failed);
});

test('without a player, and with a file as well, it is refused', async () => {
  const env = { PATH: nodeFolder, SONANT_ESPEAK_LIBRARY: '' };
  expect(await play(env)).toMatchObject({ code: 1, err: expect.stringContaining('paplay, aplay, play, ffplay, mpv') });
  expect(await play(env, '-o', 'x.wav')).toMatchObject({ code: 2, err: expect.stringContaining('excludes') });
  expect(await play(env, '--format', 'mp3')).toMatchObject({ code: 2 });
});

test.skipIf(!isInstalled('ffmpeg'))('ffplay plays it', async () => {
  const env = install('exit 1');
  rmSync(join(folder, 'aplay'));
  writeFileSync(join(folder, 'ffplay'), `#!/bin/sh\nexec ${findProgram('ffmpeg')}/ffplay "$@"\n`);
  chmodSync(join(folder, 'ffplay'), 0o755);
  expect(await play({ ...env, SDL_AUDIODRIVER: 'dummy' })).toEqual({ code: 0, out: '', err: '' });
});
