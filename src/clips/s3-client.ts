// The AWS SDK, imported here, once a bucket is to be opened, and set up for the S3 of any maker. Every call ends within a
// time that stands here, whatever the store does; what may pass is tried three times within it. What the store refuses
// is `storage_unavailable`, or `storage_full` where it says so.
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { Failure } from '../errors.ts';

export interface S3Address {
  /** Amazon's where it is empty. */
  endpoint: string;
  /** Where clients find the same service, if elsewhere. */
  publicEndpoint?: string;
  /** Who we are; found out by the SDK where it is not said. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
}

export interface Patience {
  /** Until a connection stands. */
  connectMs: number;
  /** Until the store says whether it is there. */
  checkMs: number;
  /** Until a call that carries 1 MiB at most is answered, in one attempt and in all. */
  attemptMs: number;
  callMs: number;
  /** The same for one that carries 5 MiB, or asks the store to put together as much. */
  uploadAttemptMs: number;
  uploadMs: number;
}

/** A call, with what the SDK wants to know of its limits. */
type Send<Answer> = (limit: { abortSignal: AbortSignal; requestTimeout: number }) => Promise<Answer>;

const usualPatience: Patience = {
  connectMs: 2_000,
  checkMs: 2_000,
  attemptMs: 5_000,
  callMs: 10_000,
  uploadAttemptMs: 15_000,
  uploadMs: 30_000,
};
const attemptsMax = 3;
const smallBytesMax = 1 << 20;
/** Every reader holds one, and as many again are left for who writes. */
const socketsMax = 8192;
/** What the stores of other makers expect where none is set. */
const usualRegion = 'us-east-1';

const load = async () => {
  try {
    const [s3, { getSignedUrl }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/s3-request-presigner'),
    ]);
    return { ...s3, getSignedUrl };
  } catch (cause) {
    const message =
      'S3 needs packages that are not installed here; "npm install @aws-sdk/client-s3 @aws-sdk/s3-request-presigner" brings them';
    throw new Failure('storage_unavailable', { message }, cause);
  }
};

export type S3 = Awaited<ReturnType<typeof openS3Client>>;

export async function openS3Client(address: S3Address, changed: Partial<Patience> = {}) {
  const { endpoint, publicEndpoint = '', credentials } = address;
  const patience = { ...usualPatience, ...changed };
  const sdk = await load();
  const clientFor = async (url: string): Promise<S3Client> => {
    const settings: S3ClientConfig = {
      ...(url !== '' && { endpoint: url, forcePathStyle: true }),
      ...(credentials && { credentials }),
      // What the SDK does else is refused by many stores that are not Amazon's.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // With it, every part would have a connection of its own.
      expectContinueHeader: false,
      maxAttempts: attemptsMax,
      requestHandler: {
        connectionTimeout: patience.connectMs,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: socketsMax },
        httpsAgent: { maxSockets: socketsMax },
      },
    };
    const client = new sdk.S3Client(settings);
    if (url === '') return client;
    const region = await client.config.region().catch(() => usualRegion);
    client.destroy();
    return new sdk.S3Client({ ...settings, region });
  };
  const client = await clientFor(endpoint);
  /** Signs links: their host is signed too. */
  const linking = publicEndpoint === '' || publicEndpoint === endpoint ? client : await clientFor(publicEndpoint);

  /** One call, from its first attempt to its last. The SDK's own pauses between them know of no end. */
  async function call<Answer>(
    limitMs: { attemptMs: number; callMs: number },
    send: Send<Answer>,
    signal?: AbortSignal,
  ) {
    const over = new AbortController();
    const late = Promise.withResolvers<never>();
    const end = (error: Error) => {
      late.reject(toStorageFailure(error));
      over.abort();
    };
    const leave = () => end(new Error('the caller has left'));
    const timer = setTimeout(() => end(new Error(`no answer within ${limitMs.callMs} ms`)), limitMs.callMs);
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted) leave();
    try {
      const sent = send({ abortSignal: over.signal, requestTimeout: limitMs.attemptMs });
      return await Promise.race([late.promise, sent]);
    } catch (error) {
      throw toStorageFailure(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
    }
  }
  const { checkMs, attemptMs, callMs, uploadAttemptMs, uploadMs } = patience;
  const small = { attemptMs, callMs };
  const large = { attemptMs: uploadAttemptMs, callMs: uploadMs };

  return {
    sdk,
    client,
    linking,
    call: <Answer>(send: Send<Answer>) => call(small, send),
    /** Only asks whether it is there. */
    check: <Answer>(send: Send<Answer>) => call({ attemptMs: checkMs, callMs: checkMs }, send),
    /** Carries so many bytes, until `signal` gives it up. */
    carry: <Answer>(byteCount: number, send: Send<Answer>, signal?: AbortSignal) =>
      call(byteCount > smallBytesMax ? large : small, send, signal),
    close(): void {
      client.destroy();
      linking.destroy();
    },
  };
}

/** Undefined for a refusal of one of these names. */
export const absentIf =
  (...names: string[]) =>
  (error: unknown): undefined => {
    const { cause } = error as { cause?: Error };
    if (!(error instanceof Failure) || !names.includes(cause?.name ?? '')) throw error;
  };

const fullNames = ['QuotaExceeded', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded'];

export function toStorageFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { name, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode === 507 || fullNames.includes(name)
    ? new Failure('storage_full', {}, error)
    : new Failure('storage_unavailable', { retryAfterSeconds: 1 }, error);
}
