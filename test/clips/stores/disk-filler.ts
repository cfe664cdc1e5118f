// Runs as a process that fills the small disk of a folder, and reports the result: node disk-filler.ts FOLDER
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openLocalClips } from '../../../src/clips/stores/local-clips.ts';
import type { Failure } from '../../../src/platform/errors.ts';
import { createId } from '../../../src/platform/runtime/id.ts';

const dir = join(process.argv[2]!, 'clips');
const clips = await openLocalClips({ dir });
const keys: string[] = [];

async function keep(): Promise<string> {
  const key = createId('aud', 128);
  const draft = await clips.create(key, 'audio/wav');
  try {
    for (let i = 0; i < 30; i++) await draft.write(new Uint8Array(10_000));
    await draft.commit();
    keys.push(key);
    return 'done';
  } catch (error) {
    await draft.discard();
    return (error as Failure).reason;
  }
}

const reasons: string[] = [];
for (let i = 0; i < 5; i++) reasons.push(await keep());
const kept = keys.length;
const drafts = readdirSync(join(dir, 'drafts')).length;
await clips.remove(keys[0]!);
process.stdout.write(JSON.stringify({ kept, reasons: reasons.slice(kept), drafts, after: await keep() }));
