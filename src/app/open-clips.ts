// Opens the clip store of the settings, the data folder or an S3 bucket, and decides how clients download from it.
import { join } from 'node:path';
import type { ClipStore } from '../delivery/stores/clip-store.ts';
import { openLocalClips } from '../delivery/stores/local-clips.ts';
import { openS3Bucket } from '../delivery/stores/s3-bucket.ts';
import { S3Clips } from '../delivery/stores/s3-clips.ts';
import { createPublicLinks, createSignedLinks, type LinkTo } from '../delivery/stores/s3-links.ts';
import { asConfigError, type Config, type ConfigMistake } from './config.ts';

export interface OpenedClips {
  clips: ClipStore;
  /** Creates links to the store itself; undefined if Sonant serves the audio. */
  linkTo: LinkTo | undefined;
}

/** What the links need and is not set. */
export function linkMistakes({ s3Bucket, s3Links, s3PublicUrl }: Config): ConfigMistake[] {
  if (s3Bucket === '' || s3Links !== 'public' || s3PublicUrl !== '') return [];
  const allowed = 'must be the address of the bucket, for public links';
  return [{ name: 'SONANT_S3_PUBLIC_URL', source: 'for SONANT_S3_LINKS', allowed }];
}

export async function openClips(config: Config): Promise<OpenedClips> {
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
