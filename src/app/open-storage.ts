// Opens everything that is stored: the database, stored audio (in the data folder or an S3 bucket) with its quotas and
// cleanup.
import { createClipRoom, createJobRows, openClipSweep, openClips, openStoredClips } from '../clips.ts';
import { createFingerprintRows, openSharedRows, openStore } from '../platform/store/open-store.ts';
import type { Opening } from './opening.ts';
import { checkSharedSecrets } from './secrets.ts';
import { traceClips, traceStore } from './tracing.ts';

const mib = 2 ** 20;

export async function openStored({ config, opened, metrics, tracing, onFault }: Opening) {
  const openedStore = await openStore(config);
  opened.defer(() => openedStore.close());
  const store = tracing ? traceStore(openedStore, config.databaseUrl === '' ? 'sqlite' : 'postgresql') : openedStore;
  if (config.databaseUrl !== '') await checkSharedSecrets(config, createFingerprintRows(store));
  const sharedRows = await openSharedRows(config);
  opened.defer(async () => sharedRows?.close());
  const storedClips = await openClips(config);
  opened.defer(() => storedClips.clips.close());
  const clipStore = tracing
    ? traceClips(storedClips.clips, config.s3Bucket === '' ? 'files' : 's3')
    : storedClips.clips;
  const shared = openStoredClips(store, { ...storedClips, clips: clipStore });
  const { index, memory } = shared;
  const { clips } = memory;
  const limits = { bytesMax: config.audioMibMax * mib, accountBytesMax: config.audioMibPerKey * mib };
  const room = createClipRoom({ clips, index, limits, metrics, onFault });
  const { isSegmentClip: isNeeded } = createJobRows(store);
  const sweep = openClipSweep({ clips, index, room, isNeeded, onFault });
  opened.defer(() => sweep.close());
  return { store, sharedRows, clips: shared, room, sweep };
}

/** The database and the stored audio. */
export type Stored = Awaited<ReturnType<typeof openStored>>;
