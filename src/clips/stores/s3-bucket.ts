// Makes the S3 calls of the clip store on one bucket, and the links to its clips. s3-client.ts limits each call and
// converts errors to Failures.
import type { Readable } from 'node:stream';
import type { ListMultipartUploadsCommandOutput, ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import { Failure } from '../../platform/errors.ts';
import type { ByteRange } from './clip-store.ts';
import { absentIf, openS3Client, type S3, type S3Address, type Timeouts, toStorageFailure } from './s3-client.ts';

export interface StoredObject {
  /** Size of the complete object, regardless of the range. */
  byteCount: number;
  /** Undefined if the range is past the end. */
  body?: { stream: Readable; byteCount: number };
}

/** A multipart upload. */
export interface Upload {
  path: string;
  uploadId: string;
}

/** Lifetime of a link, and the headers of its response. */
interface LinkOptions {
  seconds: number;
  contentType: string;
  disposition: string;
  cacheControl: string;
}

export async function openS3Bucket(name: string, address: S3Address, timeouts?: Partial<Timeouts>): Promise<S3Bucket> {
  return new S3Bucket(name, await openS3Client(address, timeouts));
}

export class S3Bucket {
  readonly #name: string;
  readonly #s3: S3;

  constructor(name: string, s3: S3) {
    this.#name = name;
    this.#s3 = s3;
  }

  /** Throws a Failure if the store does not answer. */
  async check(): Promise<void> {
    const { sdk, client, check } = this.#s3;
    await check((limit) => client.send(new sdk.HeadBucketCommand({ Bucket: this.#name }), limit));
  }

  async head(path: string): Promise<StoredObject | undefined> {
    const { sdk, client, call } = this.#s3;
    const command = new sdk.HeadObjectCommand(this.#at(path));
    const found = await call((limit) => client.send(command, limit)).catch(absentIf('NotFound'));
    return found && { byteCount: found.ContentLength ?? 0 };
  }

  async get(path: string, range?: ByteRange): Promise<StoredObject | undefined> {
    const { sdk, client, call } = this.#s3;
    const input = { ...this.#at(path), ...(range && { Range: `bytes=${range.first}-${range.last}` }) };
    const command = new sdk.GetObjectCommand(input);
    const got = await call((limit) => client.send(command, limit)).catch(absentIf('NoSuchKey', 'InvalidRange'));
    // HEAD distinguishes a range past the end from an object that does not exist.
    if (!got) return range && this.head(path);
    const body = { stream: got.Body as Readable, byteCount: got.ContentLength ?? 0 };
    const whole = range ? Number(/\/(\d+)$/.exec(got.ContentRange ?? '')?.[1]) : body.byteCount;
    if (!Number.isNaN(whole)) return { byteCount: whole, body };
    body.stream.destroy();
    throw new Failure('storage_unavailable', {}, new Error('the store did not send the range that was requested'));
  }

  async put(path: string, bytes: Uint8Array, contentType: string, signal: AbortSignal): Promise<void> {
    const { sdk, client, carry } = this.#s3;
    const command = new sdk.PutObjectCommand({ ...this.#at(path), Body: bytes, ContentType: contentType });
    await carry(bytes.length, (limit) => client.send(command, limit), signal);
  }

  /** Deletes one object, because not every store supports deleting several objects at once. */
  async remove(path: string): Promise<void> {
    const { sdk, client, call } = this.#s3;
    await call((limit) => client.send(new sdk.DeleteObjectCommand(this.#at(path)), limit));
  }

  async *list(prefix: string): AsyncGenerator<{ path: string; modifiedAtMs: number }> {
    const { sdk, client, call } = this.#s3;
    let more: { ContinuationToken?: string } | undefined = {};
    while (more) {
      const command = new sdk.ListObjectsV2Command({ Bucket: this.#name, Prefix: prefix, ...more });
      const page: ListObjectsV2CommandOutput = await call((limit) => client.send(command, limit));
      for (const { Key, LastModified } of page.Contents ?? []) {
        yield { path: Key!, modifiedAtMs: LastModified!.getTime() };
      }
      const { NextContinuationToken: token } = page;
      more = token === undefined ? undefined : { ContinuationToken: token };
    }
  }

  async startUpload(path: string, contentType: string): Promise<Upload> {
    const { sdk, client, call } = this.#s3;
    const command = new sdk.CreateMultipartUploadCommand({ ...this.#at(path), ContentType: contentType });
    return { path, uploadId: (await call((limit) => client.send(command, limit))).UploadId! };
  }

  /** Returns the ETag of the part, which `finishUpload` needs. Numbers start at 1. */
  async putPart(upload: Upload, number: number, bytes: Uint8Array, signal: AbortSignal): Promise<string> {
    const { sdk, client, carry } = this.#s3;
    const command = new sdk.UploadPartCommand({ ...this.#of(upload), PartNumber: number, Body: bytes });
    return (await carry(bytes.length, (limit) => client.send(command, limit), signal)).ETag!;
  }

  /** Combines the parts with these ETags into the object. Some stores copy the parts, which takes time. */
  async finishUpload(upload: Upload, etags: readonly string[]): Promise<void> {
    const { sdk, client, carry } = this.#s3;
    const Parts = etags.map((ETag, i) => ({ ETag, PartNumber: i + 1 }));
    const command = new sdk.CompleteMultipartUploadCommand({ ...this.#of(upload), MultipartUpload: { Parts } });
    await carry(Number.POSITIVE_INFINITY, (limit) => client.send(command, limit));
  }

  async abortUpload(upload: Upload): Promise<void> {
    const { sdk, client, call } = this.#s3;
    const command = new sdk.AbortMultipartUploadCommand(this.#of(upload));
    await call((limit) => client.send(command, limit)).catch(absentIf('NoSuchUpload'));
  }

  async *listUploads(prefix: string): AsyncGenerator<Upload & { startedAtMs: number }> {
    const { sdk, client, call } = this.#s3;
    let more: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
    while (more) {
      const command = new sdk.ListMultipartUploadsCommand({ Bucket: this.#name, Prefix: prefix, ...more });
      const page: ListMultipartUploadsCommandOutput = await call((limit) => client.send(command, limit));
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        yield { path: Key!, uploadId: UploadId!, startedAtMs: Initiated!.getTime() };
      }
      const { NextKeyMarker = '', NextUploadIdMarker = '' } = page;
      more = page.IsTruncated ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } : undefined;
    }
  }

  /** Time at which the credentials and the links signed with them expire. Undefined if credentials do not expire. */
  async credentialsExpireAtMs(): Promise<number | undefined> {
    try {
      return (await this.#s3.linking.config.credentials()).expiration?.getTime();
    } catch (error) {
      throw toStorageFailure(error);
    }
  }

  async link(path: string, { seconds, contentType, disposition, cacheControl }: LinkOptions): Promise<string> {
    const { sdk, linking } = this.#s3;
    const headers = {
      ResponseContentType: contentType,
      ResponseContentDisposition: disposition,
      ResponseCacheControl: cacheControl,
    };
    try {
      const command = new sdk.GetObjectCommand({ ...this.#at(path), ...headers });
      return await sdk.getSignedUrl(linking, command, { expiresIn: seconds });
    } catch (error) {
      throw toStorageFailure(error);
    }
  }

  close(): void {
    this.#s3.close();
  }

  #at(path: string) {
    return { Bucket: this.#name, Key: path };
  }

  #of({ path, uploadId }: Upload) {
    return { ...this.#at(path), UploadId: uploadId };
  }
}

// Creates links to clips in the store itself. A signed link is valid for at most an hour, and never longer than the
// clip or the credentials. A signed link is reused only during the first half of its lifetime, so that every client has
// at least the second half to start the download. A public link is valid as long as the clip exists.

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

/** The path of a clip in the bucket. */
export const toS3Path = (prefix: string, key: string): string => `${prefix}${key.slice(-2)}/${key}`;
