// Runs a worker on jobs that can be killed: after its death nothing reaches the stores, as if its process were gone.
// The worker has the name of a dead process of this machine.

import { createClipRows } from '../../../src/clips/clip-rows.ts';
import type { ClipStore } from '../../../src/clips/stores/clip-store.ts';
import { createId, processName } from '../../../src/platform/runtime/id.ts';
import type { RowStore } from '../../../src/platform/store/row-store.ts';
import type { JobsGateway } from './open-jobs.ts';

export interface KilledRunner {
  /** Resolves when the worker is dead. */
  dead: Promise<void>;
  /** Number of store operations so far. */
  readonly operations: number;
}

/** Opens a worker that dies at the store operation with this number. */
export function openKilledRunner(
  { store, storedClips, openOwnJobs }: Pick<JobsGateway, 'store' | 'storedClips' | 'openOwnJobs'>,
  diesAt: number,
): KilledRunner {
  const died = Promise.withResolvers<void>();
  let operations = 0;
  const alive = <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (++operations === diesAt) died.resolve();
    return operations >= diesAt ? new Promise<Result>(() => {}) : work();
  };
  const rows: RowStore = {
    query: (...asked) => alive(() => store.query(...asked)) as never,
    transaction: (...asked) => alive(() => store.transaction(...asked)) as never,
    now: () => store.now(),
    listen: () => () => {},
    close: async () => {},
  };
  const { clips } = storedClips.memory;
  const mortal: ClipStore = {
    hasReceipts: true,
    create: (...asked) =>
      alive(async () => {
        const draft = await clips.create(...asked);
        return {
          write: (bytes) => alive(() => draft.write(bytes)),
          commit: (head) => alive(() => draft.commit(head)),
          discard: () => alive(() => draft.discard()),
        };
      }),
    open: (...asked) => alive(() => clips.open(...asked)),
    remove: (key) => alive(() => clips.remove(key)),
    sweep: async () => 0,
    disk: () => clips.disk(),
    close: async () => {},
  };
  openOwnJobs({
    chaptersMax: 4,
    store: rows,
    clips: { index: createClipRows(rows), memory: { ...storedClips.memory, clips: mortal } },
    holder: processName.replace(/[^|]*$/, createId('run')),
  });
  return {
    dead: died.promise,
    get operations() {
      return operations;
    },
  };
}
