// Creates links to clips in the store itself. A signed link is valid for at most an hour, and never longer than the
// clip or the credentials. A signed link is reused only during the first half of its lifetime, so that every client has
// at least the second half to start the download. A public link is valid as long as the clip exists.
import type { S3Bucket } from './s3-bucket.ts';
import { toS3Path } from './s3-clips.ts';

interface LinkedClip {
  key: string;
  contentType: string;
  /** File name for saving the audio. */
  fileName: string;
  expiresAtMs: number;
}

interface ClipLink {
  url: string;
  /** Time for which a client may cache the link. */
  maxAgeSeconds: number;
}

export type LinkTo = (clip: LinkedClip) => Promise<ClipLink>;

const linkMsMax = 3_600_000;
const linksMax = 20_000;

export const createPublicLinks =
  ({ publicUrl, prefix }: { publicUrl: string; prefix: string }): LinkTo =>
  async ({ key, expiresAtMs }) => ({
    url: `${publicUrl}/${toS3Path(prefix, key)}`,
    maxAgeSeconds: secondsUntil(expiresAtMs),
  });

export function createSignedLinks({ bucket, prefix }: { bucket: S3Bucket; prefix: string }): LinkTo {
  /** Links by clip key, oldest first. */
  const links = new Map<string, { url: string; renewAtMs: number }>();

  const sign = async ({ key, contentType, fileName, expiresAtMs }: LinkedClip) => {
    const now = Date.now();
    const credentialsExpireAtMs = (await bucket.credentialsExpireAtMs()) ?? Number.POSITIVE_INFINITY;
    const lifeMs = Math.max(1_000, Math.min(linkMsMax, expiresAtMs - now, credentialsExpireAtMs - now));
    const renewAtMs = now + lifeMs / 2;
    const url = await bucket.link(toS3Path(prefix, key), {
      seconds: Math.ceil(lifeMs / 1000),
      contentType,
      disposition: `inline; filename="${fileName}"`,
      // `max-age` suits even the last client that receives this link, so that no cache outlives the clip.
      cacheControl: `public, max-age=${secondsUntil(expiresAtMs - lifeMs / 2)}, immutable`,
    });
    const [oldest] = links.keys();
    if (links.size >= linksMax && oldest !== undefined) links.delete(oldest);
    links.delete(key);
    links.set(key, { url, renewAtMs });
    return { url, renewAtMs };
  };

  return async (clip) => {
    const signed = links.get(clip.key);
    const { url, renewAtMs } = signed && signed.renewAtMs > Date.now() ? signed : await sign(clip);
    return { url, maxAgeSeconds: secondsUntil(renewAtMs) };
  };
}

const secondsUntil = (timeMs: number): number => Math.max(0, Math.floor((timeMs - Date.now()) / 1000));
