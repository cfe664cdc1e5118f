// Opens what is stored: the database, clips with their room and their sweep, and the usage ledger.
import { createUsageLedger } from '../access/usage-ledger.ts';
import { createClipRoom } from '../delivery/clip-room.ts';
import { openClipSweep } from '../delivery/clip-sweep.ts';
import { createFingerprintRows } from '../store/fingerprint-rows.ts';
import { createJobRows } from '../store/job-rows.ts';
import { openStore } from '../store/open-store.ts';
import { createUsageRows } from '../store/usage-rows.ts';
import { openClips } from './open-clips.ts';
import { traceClips, traceStore } from './open-tracing.ts';
import type { Opening } from './opening.ts';
import { checkSharedSecrets } from './shared-secrets.ts';
import { openStoredClips } from './stored-clips.ts';

const mib = 2 ** 20;

export async function openStored({ config, opened, metrics, tracing, onFault }: Opening) {
  const openedStore = await openStore(config);
  opened.defer(() => openedStore.close());
  const store = tracing ? traceStore(openedStore, config.databaseUrl === '' ? 'sqlite' : 'postgresql') : openedStore;
  if (config.databaseUrl !== '') await checkSharedSecrets(config, createFingerprintRows(store));
  const storedClips = await openClips(config);
  opened.defer(() => storedClips.clips.close());
  const clipStore = tracing
    ? traceClips(storedClips.clips, config.s3Bucket === '' ? 'files' : 's3')
    : storedClips.clips;
  const shared = openStoredClips(store, { ...storedClips, clips: clipStore });
  const { index, memory } = shared;
  const { clips } = memory;
  const limits = { bytesMax: config.audioMibMax * mib, accountBytesMax: config.audioMibPerKey * mib };
  const room = createClipRoom({ clips, index, limits, onFault });
  metrics.watchRoom(room.state);
  const { isSegmentClip: isNeeded } = createJobRows(store);
  const sweep = openClipSweep({ clips, index, room, isNeeded, onFault });
  opened.defer(() => sweep.close());
  const ledger = createUsageLedger(createUsageRows(store), { onFault });
  opened.defer(async () => {
    // What is owed needs room in the database, which stored audio can make.
    if (ledger.owedRows > 0) await room.restore().catch(onFault);
    await ledger.close();
  });
  metrics.watchLedger(ledger);
  return { store, clips: shared, room, sweep, ledger };
}
