// Opens stored audio, in the data folder or in an S3 bucket, with its index, quotas and cleanup, and the delivery of
// speech from it. `doctor` checks a bucket with `checkClipStore`.
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Failure } from '../platform/errors.ts';
import { asConfigError, type ConfigMistake } from '../platform/runtime/config-mistakes.ts';
import { createId } from '../platform/runtime/id.ts';
import { reasonOf } from '../platform/runtime/system-errors.ts';
import { createFlightLock } from '../platform/store/flight-lock.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import type { Tools } from '../platform/telemetry/tools.ts';
import type { Voices } from '../speech.ts';
import { createKnownClips } from './clip-cache.ts';
import { createClipMemory } from './clip-memory.ts';
import { type ClipRoomOptions, createClipRoom } from './clip-room.ts';
import { type ClipRow, createClipRows, voiceIdsOf } from './clip-rows.ts';
import { createVoicePurge, openClipSweep } from './clip-sweep.ts';
import { createDelivery, type Delivery, type DeliveryOptions } from './delivery.ts';
import { createJobSegmentRows } from './jobs/job-segment-rows.ts';
import type { OpenSigner } from './provenance/places.ts';
import type { ClipConfig } from './settings.ts';
import { createSingleFlight, traceFlights } from './single-flight.ts';
import { createStoredAudio, type StoredAudio } from './stored-audio.ts';
import { openReceipt, type SignedReceipt } from './stored-receipt.ts';
import { type ClipStore, traceClips } from './stores/clip-store.ts';
import { openLocalClips } from './stores/local-clips.ts';
import { createPublicLinks, createSignedLinks, type LinkTo, openS3Bucket } from './stores/s3-bucket.ts';
import { S3Clips } from './stores/s3-clips.ts';

export type Clips = ReturnType<typeof createClips>;

type ClipTools = Pick<Tools<never>, 'metrics' | 'tracing' | 'onFault' | 'opened'> & { settings: ClipConfig };

const mib = 2 ** 20;

export async function openClips(
  { settings, opened, ...tools }: ClipTools,
  stores: Pick<ClipsOptions, 'store' | 'sharedRows'>,
): Promise<Clips> {
  const { audioMibMax, audioMibPerKey, s3Bucket } = settings;
  const { clips, linkTo } = await openClipStore(settings);
  opened.defer(() => clips.close());
  const traced = tools.tracing ? traceClips(clips, s3Bucket === '' ? 'files' : 's3') : clips;
  const limits = { bytesMax: audioMibMax * mib, accountBytesMax: audioMibPerKey * mib };
  const made = createClips({ ...tools, ...stores, clips: traced, linkTo, limits });
  opened.defer(made.close);
  return made;
}

interface ClipsOptions extends Pick<ClipRoomOptions, 'limits' | 'metrics' | 'onFault'>, OpenedStore {
  store: RowStore;
  /** The rows that replicas share; undefined with SQLite. */
  sharedRows: RowStore | undefined;
  tracing?: ClipTools['tracing'];
}

interface DeliveringOptions extends Pick<DeliveryOptions, 'links'> {
  speech: DeliveryOptions['speech'];
  voices: Pick<Voices, 'isCloned'>;
  /** Opens the signer for the manifests of stored audio. By default, audio has no manifest. */
  openSigner?: OpenSigner | undefined;
}

/** What answers calls from stored audio. */
export interface OpenedDelivery {
  delivery: Delivery;
  /** The files of clips. */
  audio: StoredAudio;
  /** Returns the receipt of the owner's audio. Throws a Failure if there is none. */
  readReceipt(audioId: string, ownerId: string, signal: AbortSignal): Promise<SignedReceipt>;
  /** Whether the clip exists and is neither expired nor deleted. */
  isAlive(clipId: string): Promise<boolean>;
}

/** The parts of stored audio, on an open store of clips. */
export function createClips(options: ClipsOptions) {
  const { store, sharedRows, linkTo, limits, metrics, tracing, onFault } = options;
  let onEnded = () => {};
  const index = createClipRows(store, { onEnded: () => onEnded() });
  const memory = createClipMemory(options.clips);
  const { clips } = memory;
  const room = createClipRoom({ clips, index, limits, metrics, onFault });
  const segments = createJobSegmentRows(store);
  const sweep = openClipSweep({ clips, index, room, isNeeded: segments.isSegmentClip, onFault });
  const lock = sharedRows && createFlightLock({ rows: sharedRows, listen: (...asked) => store.listen(...asked) });
  const flights = createSingleFlight(lock);
  return {
    index,
    memory,
    room,
    sweep,
    purgeVoices: createVoicePurge({ index, segments, memory, sweep }),
    /** Delivers speech into and out of stored audio, and finds the files of clips. */
    openDelivery({ speech, voices, links, openSigner }: DeliveringOptions): OpenedDelivery {
      const isRevocable = (clip: Pick<ClipRow, 'voiceId' | 'otherVoiceIds'>) => voiceIdsOf(clip).some(voices.isCloned);
      const known = createKnownClips({ index, isRevocable });
      // Rows are forgotten when clips end early: at once in this process, and soon afterwards in another.
      onEnded = known.forget;
      store.listen('clips', known.forget);
      const records = { ...index, ...known };
      const singleFlight = tracing ? traceFlights(flights) : flights;
      const ofLinks = { ...links, hasManifests: openSigner !== undefined };
      const parts = { speech, clips, memory, index: records, room, links: ofLinks, onFault };
      return {
        isAlive: index.isAlive,
        delivery: createDelivery(parts, singleFlight),
        audio: createStoredAudio({
          findClip: records.find,
          read: memory.read,
          clips,
          openSigner,
          linkTo,
          isRevocable,
        }),
        async readReceipt(audioId, ownerId, signal) {
          const row = await records.find(audioId);
          if (row?.ownerId !== ownerId) throw new Failure('not_found', { message: 'Audio not found for this key.' });
          return openReceipt(row, { clips, openSigner, signal });
        },
      };
    },
    close: (): Promise<void> => sweep.close(),
  };
}

interface OpenedStore {
  clips: ClipStore;
  /** Creates links to the store itself; undefined if Sonant serves the audio. */
  linkTo: LinkTo | undefined;
}

/** Settings that links require but that are not set. */
export function linkMistakes({ s3Bucket, s3Links, s3PublicUrl }: ClipConfig): ConfigMistake[] {
  if (s3Bucket === '' || s3Links !== 'public' || s3PublicUrl !== '') return [];
  const allowed = 'must be the address of the bucket, because links are public';
  return [{ name: 'SONANT_S3_PUBLIC_URL', source: 'for SONANT_S3_LINKS', allowed }];
}

export async function openClipStore(config: ClipConfig): Promise<OpenedStore> {
  const { dataDir, s3Bucket, s3Endpoint: endpoint, s3Prefix: prefix, s3Links, s3PublicUrl: publicUrl } = config;
  const hasReceipts = config.receipts === 'on';
  if (s3Bucket === '')
    return { clips: await openLocalClips({ dir: join(dataDir, 'audio'), hasReceipts }), linkTo: undefined };
  const publicEndpoint = s3Links === 'presigned' ? publicUrl : '';
  const bucket = await asConfigError(config, 'SONANT_S3_BUCKET', () =>
    openS3Bucket(s3Bucket, { endpoint, publicEndpoint }),
  );
  // Anyone who has the URL of audio in a public bucket could also read what lies beside it.
  const clips = new S3Clips({ bucket, prefix, hasReceipts: hasReceipts && s3Links !== 'public' });
  if (s3Links === 'proxy') return { clips, linkTo: undefined };
  const linkTo =
    s3Links === 'public' ? createPublicLinks({ publicUrl, prefix }) : createSignedLinks({ bucket, prefix });
  return { clips, linkTo };
}

const linkTimeoutMs = 10_000;
const linkLifeMs = 60_000;

/**
 * Checks the clip store: writes a small object, reads it through the store and deletes it. If links lead to the store,
 * also reads the object through a link. The error names the failed step and contains the store's message.
 */
export async function checkClipStore(settings: ClipConfig): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const { clips, linkTo } = await openClipStore(settings);
  opened.defer(() => clips.close());
  const key = createId('aud', 128);
  const bytes = Buffer.from('Sonant was here.');
  const contentType = 'audio/wav';
  await step('written', async () => {
    const draft = await clips.create(key, contentType);
    await draft.write(bytes);
    await draft.commit();
  });
  try {
    await step('read', async () => {
      const clip = await clips.open(key);
      if (!clip || !bytes.equals(await buffer(clip.body)))
        throw new Error('its content is missing or differs from the content written');
    });
    if (!linkTo) return;
    const { url } = await linkTo({ key, contentType, fileName: `${key}.wav`, expiresAtMs: Date.now() + linkLifeMs });
    await step(`read through a link, such as ${url.replace(/\?.*/, '')}`, async () => {
      const response = await fetch(url, { signal: AbortSignal.timeout(linkTimeoutMs) });
      if (!response.ok || !bytes.equals(await response.bytes()))
        throw new Error(`the link returned status ${response.status}`);
    });
  } finally {
    await step('deleted', () => clips.remove(key));
  }
}

async function step(done: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const root = rootOf(error);
    throw new Error(`an object cannot be ${done}: ${root.name === 'Error' ? '' : `${root.name}: `}${reasonOf(root)}`);
  }
}

const rootOf = (error: unknown): Error => {
  const { cause } = error as Error;
  return cause instanceof Error ? rootOf(cause) : (error as Error);
};
