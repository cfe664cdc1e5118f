// Tests the completion scripts in the shells themselves.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isInstalled } from '../programs.ts';
import { main, runSonant } from './sonant-program.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-completion-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the completions of each line. `script` returns the shell code that prints the completions of one line. */
async function offered(shell: string, lines: readonly string[], script: (file: string, words: string[]) => string) {
  const { code, out } = await runSonant(folder, ['completion', shell]);
  expect(code).toBe(0);
  const file = join(folder, shell);
  writeFileSync(file, out);
  // The scripts call the program itself to list voices.
  writeFileSync(join(folder, 'sonant'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
  return lines.map((line) => {
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    const output = execFileSync(shell, ['-c', script(file, line.split(' '))], { encoding: 'utf8', cwd: folder, env });
    return output.split(/[\s:]+/);
  });
}

const lines = [
  'sonant ke',
  'sonant key ',
  'sonant say --format ',
  'sonant say -f m',
  'sonant say --speaki',
  'sonant say -v clar',
  'sonant voice default clar',
];
const all = ['key', 'create list revoke rotate', 'mp3 pcm wav', 'mp3', '--speaking-rate', 'clara', 'clara'];
/** Only some completions are expected, because more formats may be added later. */
const expectOffers = (offers: readonly string[][]) =>
  offers.forEach((offer, at) => {
    for (const word of all[at]!.split(' ')) expect(offer).toContain(word);
  });

test('bash', async () => {
  expectOffers(
    await offered('bash', lines, (file, words) => {
      const place = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
      return `source ${file}; ${place}; _sonant; echo "\${COMPREPLY[@]}"`;
    }),
  );
});

test.skipIf(!isInstalled('fish'))('fish', async () => {
  expectOffers(
    await offered('fish', lines, (file, words) => `source ${file}; complete -C '${words.join(' ')}' | cut -f 1`),
  );
});

test.skipIf(!isInstalled('zsh'))('zsh', async () => {
  // Outside its line editor, zsh has no compadd, so the unfiltered arguments of compadd are checked.
  expectOffers(
    await offered('zsh', lines, (file, words) => {
      const stand = 'compdef() {}; compadd() { shift; print -- $@ }; _describe() { print -- $commands }';
      const place = `words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}`;
      return `${stand}; source ${file}; ${place}; _sonant`;
    }),
  );
});

test('another shell is refused', async () => {
  expect(await runSonant(folder, ['completion', 'tcsh'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('bash, zsh, fish'),
  });
});
