// Links that lead past us, to the store itself. A signed one is good for an hour at most, never longer than the clip or
// our own login, and is given out for the first half of that, so that who gets it has at least the other half to begin
// in. A public one is good for as long as the clip lies there.
import type { S3Bucket } from './s3-bucket.ts';
import { toS3Path } from './s3-clips.ts';

export interface LinkedClip {
  key: string;
  contentType: string;
  /** What it is called where it is saved. */
  fileName: string;
  expiresAtMs: number;
}

export interface ClipLink {
  url: string;
  /** Until another one is given out. */
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
  /** The oldest first. */
  const links = new Map<string, { url: string; renewAtMs: number }>();

  const sign = async ({ key, contentType, fileName, expiresAtMs }: LinkedClip) => {
    const now = Date.now();
    const loginEndsAtMs = (await bucket.loginEndsAtMs()) ?? Number.POSITIVE_INFINITY;
    const lifeMs = Math.max(1_000, Math.min(linkMsMax, expiresAtMs - now, loginEndsAtMs - now));
    const renewAtMs = now + lifeMs / 2;
    const url = await bucket.link(toS3Path(prefix, key), {
      seconds: Math.ceil(lifeMs / 1000),
      contentType,
      disposition: `inline; filename="${fileName}"`,
      // For who gets it last, and still not beyond the life of the clip.
      cacheControl: `public, max-age=${secondsUntil(expiresAtMs - lifeMs / 2)}, immutable`,
    });
    const [oldest] = links.keys();
    if (links.size >= linksMax && oldest !== undefined) links.delete(oldest);
    links.delete(key);
    links.set(key, { url, renewAtMs });
    return { url, renewAtMs };
  };

  return async (clip) => {
    const made = links.get(clip.key);
    const { url, renewAtMs } = made && made.renewAtMs > Date.now() ? made : await sign(clip);
    return { url, maxAgeSeconds: secondsUntil(renewAtMs) };
  };
}

const secondsUntil = (timeMs: number): number => Math.max(0, Math.floor((timeMs - Date.now()) / 1000));
