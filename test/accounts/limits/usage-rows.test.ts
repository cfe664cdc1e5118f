// Tests the ledger of a killed process: everything acknowledged is there, and nothing is there in part.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openSqliteInFolder } from '../../platform/store/open-test-store.ts';

test('five kills at random moments lose no acknowledged usage', async () => {
  const { file, store } = await openSqliteInFolder();
  const kept = async () => {
    const [row] = await store.query<{ requests: number; characters: number; ms: number }>(
      'select coalesce(sum(requests), 0) as requests, sum(characters) as characters, sum(audio_ms) as ms from usage',
    );
    return row!;
  };
  let acknowledged = 0;
  for (let i = 0; i < 5; i++) {
    const before = (await kept()).requests;
    const writer = spawn(process.execPath, [join(import.meta.dirname, '../../platform/store/usage-writer.ts'), file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = text(writer.stdout);
    await once(writer.stdout, 'readable');
    await sleep(Math.random() * 100);
    writer.kill('SIGKILL');
    const acknowledgedCount = (await said).length;
    acknowledged += acknowledgedCount;
    const { requests, characters, ms } = await kept();
    // The last three may have been stored before they could be acknowledged.
    expect([0, 3]).toContain(requests - before - acknowledgedCount);
    expect([characters, ms]).toEqual([requests * 7, requests * 11]);
  }
  console.log(`5 kills, ${acknowledged} acknowledged, none lost`);
  expect(acknowledged).toBeGreaterThan(0);
});
