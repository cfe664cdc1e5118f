// Jobs of `sonant book`, in a work folder beside the output file. Finished segments stay in the folder, so that the
// same command can resume after an interruption. No service sees these jobs, and nothing is charged.
import { join } from 'node:path';
import { usualLimits } from '../accounts.ts';
import { anonymous, openJobs } from '../api.ts';
import {
  type ClipRoom,
  type JobCaller,
  jobKeepHoursMax,
  openLocalClips,
  openManifest,
  openStoredClips,
} from '../clips.ts';
import { openSqlite } from '../platform/store/sqlite.ts';
import type { App } from './command-line.ts';

export type BookWork = Awaited<ReturnType<typeof openBookWork>>;

const callerId = 'command line';
const endlessRoom: Pick<ClipRoom, 'reserve' | 'noteRemoved'> = {
  reserve: async () => ({ grow: async () => {}, keep() {}, release() {} }),
  noteRemoved() {},
};

/** Rejects if another command uses the work folder. `onFault` receives errors that do not stop a job. */
export async function openBookWork(
  { speech, openSigner }: Pick<App, 'speech' | 'openSigner'>,
  { folder, signal, onFault }: { folder: string; signal: AbortSignal; onFault(fault: unknown): void },
) {
  await using opened = new AsyncDisposableStack();
  const store = await openSqlite(join(folder, 'work.db'), { isExclusive: true });
  opened.defer(() => store.close());
  const clips = await openLocalClips({ dir: join(folder, 'audio') });
  opened.defer(() => clips.close());
  const stored = openStoredClips(store, { clips, linkTo: undefined });
  const caller = { ...anonymous, callerId, keyId: callerId, accountId: callerId, usesAllVoices: true };
  const jobs = openJobs({
    speech,
    stored: { store, clips: stored, room: endlessRoom, ledger: { add: async () => {} } },
    limiter: { takeSynthesis: async () => ({ end() {} }) },
    findCaller: async (): Promise<JobCaller> => ({ ...caller, limits: usualLimits }),
    links: { baseUrl: () => '', keepMs: jobKeepHoursMax * 3_600_000 },
    openSigner,
    chaptersMax: 1,
    onFault,
  });
  opened.defer(jobs.close);
  const kept = opened.move();
  return {
    jobs: jobs.handlers,
    clips,
    /** Returns the manifest that is stored beside a finished file, or undefined if files are not signed. */
    async manifestOf(audioId: string): Promise<Buffer | undefined> {
      const row = await stored.index.find(audioId);
      return row && openSigner && openManifest(clips, row, openSigner);
    },
    /** The call that is passed to handlers. The user of the command line may use all voices. */
    call: {
      caller,
      requestId: '',
      address: '',
      signal,
      leaving: signal,
      begunMs: performance.now(),
      reportLimits() {},
      reportSpeech() {},
    },
    close: (): Promise<void> => kept.disposeAsync(),
  };
}
