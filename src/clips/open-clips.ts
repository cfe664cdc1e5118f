// Opens stored audio, in the data folder or in an S3 bucket. `doctor` checks a bucket with `checkClipStore`.
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { asConfigError, type ConfigMistake } from '../platform/runtime/config-mistakes.ts';
import { createId } from '../platform/runtime/id.ts';
import { reasonOf } from '../platform/runtime/system-errors.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import { createClipMemory } from './clip-memory.ts';
import { createClipRows } from './clip-rows.ts';
import type { ClipConfig } from './settings.ts';
import type { ClipStore } from './stores/clip-store.ts';
import { openLocalClips } from './stores/local-clips.ts';
import { openS3Bucket } from './stores/s3-bucket.ts';
import { S3Clips } from './stores/s3-clips.ts';
import { createPublicLinks, createSignedLinks, type LinkTo } from './stores/s3-links.ts';

/** The parts of stored audio that the whole service shares. */
export type StoredClips = ReturnType<typeof openStoredClips>;

export function openStoredClips(store: RowStore, { clips, linkTo }: OpenedClips) {
  const listeners = new Set<() => void>();
  const onEnded = () => {
    for (const listener of listeners) listener();
  };
  return {
    index: createClipRows(store, { onEnded }),
    memory: createClipMemory(clips),
    linkTo,
    /**
     * Calls the listener when clips are invalidated before they expire: at once if this process invalidates them, and
     * soon afterwards if another process does.
     */
    onEnded(listener: () => void): () => void {
      listeners.add(listener);
      const stop = store.listen('clips', listener);
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
  };
}

interface OpenedClips {
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

export async function openClips(config: ClipConfig): Promise<OpenedClips> {
  const { dataDir, s3Bucket, s3Endpoint: endpoint, s3Prefix: prefix, s3Links, s3PublicUrl: publicUrl } = config;
  if (s3Bucket === '') return { clips: await openLocalClips({ dir: join(dataDir, 'audio') }), linkTo: undefined };
  const publicEndpoint = s3Links === 'presigned' ? publicUrl : '';
  const bucket = await asConfigError(config, 'SONANT_S3_BUCKET', () =>
    openS3Bucket(s3Bucket, { endpoint, publicEndpoint }),
  );
  const clips = new S3Clips({ bucket, prefix });
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
export async function checkClipStore({ clips, linkTo }: OpenedClips): Promise<void> {
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
