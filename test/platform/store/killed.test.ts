// Tests a service killed at any moment: everything acknowledged exists afterwards, and nothing incomplete does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import { createKeyVerifier } from '../../../src/accounts/keys/key-verifier.ts';
import { createClipRows } from '../../../src/clips/clip-rows.ts';
import { openLocalClips } from '../../../src/clips/stores/local-clips.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { isLongRun } from '../../long/run-length.ts';
import { newFolder } from '../../new-folder.ts';
import { clipBytes } from './stored-clip.ts';

const folder = newFolder(afterAll);

const { KILLS = isLongRun ? '10' : '3' } = process.env;
const kills = Number(KILLS);

/** Lets a process write for a while, kills it, and returns what it had acknowledged. */
async function writeAndDie(ms: number): Promise<string[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'audio-writer.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = text(child.stdout);
  await once(child.stdout, 'readable');
  await sleep(ms);
  child.kill('SIGKILL');
  // A truncated last line does not count as an acknowledgement.
  return (await said).split('\n').slice(0, -1);
}

test(`${kills} kills at random moments lose no acknowledged row or clip, and show no part of one`, async () => {
  let acknowledged = 0;
  const seen = new Set<string>();
  for (let i = 0; i < kills; i++) {
    const words = await writeAndDie(Math.random() * 150);
    acknowledged += words.length;

    const store = await openSqlite(join(folder, 'sonant.db'));
    const clips = await openLocalClips({ dir: join(folder, 'clips') });
    const clipRows = createClipRows(store);
    const keyVerifier = createKeyVerifier({ rows: createApiKeyRows(store) });
    expect(await store.query('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);

    for (const word of words) {
      if (word.startsWith('snt_')) await keyVerifier.verify(word, '127.0.0.1');
      else {
        expect((await clipRows.find(word))?.byteCount).toBe(clipBytes(word).length);
        expect(await clips.open(word).then((clip) => clip?.body.destroy())).toBeDefined();
      }
    }
    const shards = readdirSync(join(folder, 'clips')).filter((name) => name !== 'drafts');
    for (const clipId of shards.flatMap((shard) => readdirSync(join(folder, 'clips', shard)))) {
      if (seen.has(clipId)) continue;
      seen.add(clipId);
      const clip = (await clips.open(clipId))!;
      expect(clipBytes(clipId).equals(await buffer(clip.body)), `${clipId} is whole`).toBe(true);
    }
    await keyVerifier.close();
    await clips.close();
    await store.close();
  }
  console.log(`${kills} kills, ${acknowledged} acknowledged, ${seen.size} clips all whole`);
  expect(acknowledged).toBeGreaterThan(0);
  expect(seen.size).toBeGreaterThan(0);
});
