// Runs as a process that writes rows as fast as it can, and prints acknowledged rows: node row-writer.ts FILE NAME
// COUNT
import { writeSync } from 'node:fs';
import { createClipRows } from '../../../src/clips/clip-rows.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { clipRow } from './stored-clip.ts';

const [file, name, count] = process.argv.slice(2);
const store = await openSqlite(file!);
const clips = createClipRows(store);
for (let i = 0; i < Number(count); i++) {
  const clipId = createId('aud', 128);
  await clips.add(clipRow({ clipId, ownerId: name!, byteCount: i, seconds: i / 1000, chars: i }));
  writeSync(1, `${clipId}\n`);
}
await store.close();
