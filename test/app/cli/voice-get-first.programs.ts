// Tests that the package clients of this machine fetch the real voice from their real sources, and that it speaks. It is
// skipped, with the reason, on a machine without a client or a network.
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../../new-folder.ts';
import { runSonant } from './sonant-program.ts';

test('the first voice comes from its packages, without a question, and becomes the default', {
  timeout: 300_000,
}, async ({ skip }) => {
  const folder = newFolder();
  const clients = Object.entries(process.env).filter(([name]) => /^(PIP_|npm_config_|https?_proxy)/i.test(name));
  const env = { HOME: homedir(), ...(Object.fromEntries(clients) as Record<string, string>) };
  const { code, out, err } = await runSonant(folder, ['voice', 'get', 'hibari'], '', env);
  if (/cannot be fetched: (pip|npm) (was not found|exited|took)/.test(err)) skip(err);
  expect([code, err]).toEqual([0, expect.not.stringContaining('sonant:')]);
  expect(out).toContain('hibari is installed, with these voices:\n  hibari\n');
  const said = await runSonant(folder, ['say', 'Good morning.', '-o', 'a.wav', '--json'], '', env);
  expect(JSON.parse(said.out)).toMatchObject({ voice_id: 'hibari', warnings: [] });
  expect(readFileSync(join(folder, 'a.wav')).length).toBeGreaterThan(20_000);
});
