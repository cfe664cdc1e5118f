// Tests that long-running commands restart themselves in the same process, because some memory settings apply only to a
// new program. The operator's settings take precedence, and all other commands start only once.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runSonant } from './app/cli/sonant-program.ts';
import { newFolder } from './new-folder.ts';

interface Beginning {
  pid: number;
  flags: string[];
  mapped: string | undefined;
  trimmed: string | undefined;
}

const folder = newFolder(afterAll);
beforeAll(async () => {
  const fields = `{ pid, flags: execArgv, mapped: env.MALLOC_MMAP_THRESHOLD_, trimmed: env.MALLOC_TRIM_THRESHOLD_ }`;
  const script = `const { pid, execArgv, env } = process; process.stderr.write(JSON.stringify(${fields}) + '\\n');`;
  await writeFile(join(folder, 'told.cjs'), script);
  await writeFile(join(folder, 'v8-flags.cjs'), tellingV8Flags);
});

/** Writes each V8 flag that a program sets later to stderr. */
const tellingV8Flags = `
  require('node:v8').setFlagsFromString = (flag) => process.stderr.write('set ' + flag + '\\n');
  require('node:module').syncBuiltinESMExports();
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (run, ms, ...rest) => {
    if (ms !== 10_000) return setTimeout(run, ms, ...rest);
    process.once('exit', run);
    return { unref() {} };
  };
`;

/** Each program that was started, and the output of the last program. */
async function begin(args: string[], env: Record<string, string> = {}) {
  const told = { NODE_OPTIONS: `--require ${join(folder, 'told.cjs')}` };
  const { code, out, err } = await runSonant(folder, args, '', { ...told, ...env });
  expect(code, err).toBe(0);
  const beginnings: Beginning[] = err
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { beginnings, out };
}

test.runIf(process.platform === 'linux')('serve and book begin again, in the same process', async () => {
  for (const command of ['serve', 'book']) {
    const { beginnings, out } = await begin([command, '--help']);
    expect(out).toContain(`Usage: sonant ${command}`);
    const [first, second] = beginnings;
    expect(beginnings).toHaveLength(2);
    expect(first).toMatchObject({ flags: [] });
    expect(second!.pid).toBe(first!.pid);
    expect(second!.flags).toEqual([expect.stringMatching(/^--max-semi-space-size=\d+$/)]);
    expect([second!.mapped, second!.trimmed].map(Number)).toEqual([expect.any(Number), expect.any(Number)]);
    expect([Number(second!.mapped), Number(second!.trimmed)].every((bytes) => bytes > 0)).toBe(true);
  }
});

test('whoever sets a threshold decides about all of it', async () => {
  const { beginnings } = await begin(['serve', '--help'], { MALLOC_TRIM_THRESHOLD_: '4000000' });
  expect(beginnings).toEqual([expect.objectContaining({ flags: [], trimmed: '4000000' })]);
});

test('other commands begin once', async () => {
  const { beginnings, out } = await begin(['--version']);
  expect(out).toMatch(/^\d+\.\d+\.\d+( \(commit [\w-]+\))?\n$/);
  expect(beginnings).toEqual([expect.objectContaining({ flags: [] })]);
});

test('commands that run for long set when V8 marks, some time after the start', async () => {
  const NODE_OPTIONS = `--require ${join(folder, 'v8-flags.cjs')}`;
  const flagsOf = async (command: string) => {
    const { err } = await runSonant(folder, [command, '--help'], '', { NODE_OPTIONS });
    return [...err.matchAll(/^set (.*)$/gm)].map(([, flag]) => flag);
  };
  for (const command of ['serve', 'book'])
    expect(await flagsOf(command)).toEqual([expect.stringMatching(/^--incremental-marking-soft-trigger=\d+$/)]);
  expect(await flagsOf('voices')).toEqual([]);
});
