// The stored audio and jobs of one command, in a folder of their own. No service sees them, nothing is charged, and
// there is no quota.
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { openSqlite } from '../platform/store/sqlite.ts';
import type { CaptionKind } from '../speech.ts';
import { readCaptions } from './beside-audio.ts';
import { toCaptions } from './captions.ts';
import { createClipMemory } from './clip-memory.ts';
import { createClipRows } from './clip-rows.ts';
import { jobKeepMsMax } from './jobs/job-limits.ts';
import type { JobsOptions } from './jobs/jobs.ts';
import type { OpenSigner } from './provenance/places.ts';
import { openManifest } from './stored-audio.ts';
import { openLocalClips } from './stores/local-clips.ts';

/** Rejects if another command uses the folder. */
export async function openClipFolder(folder: string, openSigner: OpenSigner | undefined) {
  await using opened = new AsyncDisposableStack();
  const store = await openSqlite(join(folder, 'work.db'), { isExclusive: true });
  opened.defer(() => store.close());
  const clips = await openLocalClips({ dir: join(folder, 'audio'), hasReceipts: false });
  opened.defer(() => clips.close());
  const index = createClipRows(store);
  const stored: JobsOptions['stored'] = {
    store,
    clips: {
      index,
      memory: createClipMemory(clips),
      room: { reserve: async () => ({ grow: async () => {}, keep() {}, release() {} }), noteRemoved() {} },
    },
    ledger: { add: async () => {} },
  };
  const kept = opened.move();
  return {
    /** The options with which jobs are opened in the folder. */
    jobs: { stored, limiter: { takeSynthesis: async () => ({ end() {} }) }, openSigner, chaptersMax: 1 },
    keepMs: jobKeepMsMax,
    open: (audioId: string): Promise<{ byteCount: number; body: Readable } | undefined> => clips.open(audioId),
    /** Returns the captions of audio as a file; empty if there are none. */
    captionsOf: async (audioId: string, kind: CaptionKind): Promise<Buffer> =>
      Buffer.from(toCaptions(kind, (await readCaptions(clips, audioId)) ?? [])),
    /** Returns the manifest that is stored beside a finished file, or undefined if files are not signed. */
    async manifestOf(audioId: string): Promise<Buffer | undefined> {
      const row = await index.find(audioId);
      return row && openSigner && openManifest(clips, row, openSigner);
    },
    close: (): Promise<void> => kept.disposeAsync(),
  };
}
