// Runs as a process that stores clips with their rows, and API keys, as fast as it can until it is killed, and prints
// what is acknowledged: node audio-writer.ts FOLDER
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import { createClipRows } from '../../../src/clips/clip-rows.ts';
import { openLocalClips } from '../../../src/clips/stores/local-clips.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { openKeys } from '../../accounts/keys/open-keys.ts';
import { clipBytes, clipRow } from './stored-clip.ts';

const folder = process.argv[2]!;
const store = await openSqlite(join(folder, 'sonant.db'));
const clips = await openLocalClips({ dir: join(folder, 'clips') });
const clipRows = createClipRows(store);
const keyVerifier = openKeys({ rows: createApiKeyRows(store) });
const acknowledge = (word: string) => writeSync(1, `${word}\n`);

async function storeClips(): Promise<never> {
  for (;;) {
    const clipId = createId('aud', 128);
    const bytes = clipBytes(clipId);
    const draft = await clips.create(clipId, 'audio/wav');
    for (let from = 0; from < bytes.length; from += 32_768) await draft.write(bytes.subarray(from, from + 32_768));
    await draft.commit();
    await clipRows.add(clipRow({ clipId, byteCount: bytes.length, expiresAtMs: Date.now() + 1_000_000 }));
    acknowledge(clipId);
  }
}

async function storeKeys(): Promise<never> {
  for (;;) {
    acknowledge((await keyVerifier.create({})).key);
    // Without this pause, storing keys would never yield to the event loop, which storing clips needs.
    await setTimeout(3);
  }
}

await Promise.all([storeClips(), storeClips(), storeClips(), storeKeys()]);
