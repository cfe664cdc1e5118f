// Runs as a process that writes rows as fast as it can, and prints acknowledged rows: node row-writer.ts FILE NAME
// COUNT
import { writeSync } from 'node:fs';
import { createClipRows } from '../../../src/clips/clip-rows.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';

const [file, name, count] = process.argv.slice(2);
const store = await openSqlite(file!);
const clips = createClipRows(store);
for (let i = 0; i < Number(count); i++) {
  const clipId = createId('aud', 128);
  await clips.add({
    clipId,
    ownerId: name!,
    accountId: null,
    usedAtMs: null,
    cacheKey: null,
    format: 'wav',
    byteCount: i,
    seconds: i / 1000,
    chars: i,
    sampleRateHz: 44_100,
    voiceId: 'voice',
    voiceName: 'Voice',
    warnings: '',
    createdAtMs: Date.now(),
    ...{ otherVoiceIds: null, deletedAtMs: null, fingerprint: null, origin: null, speechCheck: null },
    expiresAtMs: Date.now(),
  });
  writeSync(1, `${clipId}\n`);
}
await store.close();
