// Loads the AWS SDK when a bucket is opened, and configures it for any S3-compatible service. The SDK signs the calls
// and links of s3-bucket.ts. Every call has a timeout and makes up to three attempts. Store errors are
// `storage_unavailable`, or `storage_full` if the store reports that it is full.
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { Failure } from '../../platform/errors.ts';
import { codeIn } from '../../platform/net/upstream-answer.ts';
import { onAbort } from '../../platform/runtime/abort.ts';

export interface S3Address {
  /** Empty for Amazon's endpoint. */
  endpoint: string;
  /** URL of the service for clients, if it differs from `endpoint`. */
  publicEndpoint?: string;
  /** Default: the credentials that the SDK finds itself. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
}

export interface Timeouts {
  /** Timeout for opening a connection. */
  connectMs: number;
  /** Timeout for a check. */
  checkMs: number;
  /** Timeouts of calls with up to 1 MiB: for one attempt, and for all attempts. */
  attemptMs: number;
  callMs: number;
  /**
   * Timeouts for one attempt and for all attempts of calls that send a part of 5 MiB or make the store assemble parts.
   */
  uploadAttemptMs: number;
  uploadMs: number;
}

/** Sends a call. The time limits for the call are options of the SDK. */
type Send<Answer> = (limit: { abortSignal: AbortSignal; requestTimeout: number }) => Promise<Answer>;

const usualTimeouts: Timeouts = {
  connectMs: 2_000,
  checkMs: 2_000,
  attemptMs: 5_000,
  callMs: 10_000,
  uploadAttemptMs: 15_000,
  uploadMs: 30_000,
};
const attemptsMax = 3;
const smallBytesMax = 1 << 20;
/** Maximum number of sockets: one for each reader, and as many for writers. */
const socketsMax = 8192;
/** Region for services other than Amazon's if no region is set. */
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
      'S3 needs packages that are not installed; install them with "npm install @aws-sdk/client-s3 @aws-sdk/s3-request-presigner"';
    throw new Failure('storage_unavailable', { message }, cause);
  }
};

export type S3 = Awaited<ReturnType<typeof openS3Client>>;

export async function openS3Client(address: S3Address, changed: Partial<Timeouts> = {}) {
  const { endpoint, publicEndpoint = '' } = address;
  const timeouts = { ...usualTimeouts, ...changed };
  const { connectMs, checkMs, attemptMs, callMs, uploadAttemptMs, uploadMs } = timeouts;
  const sdk = await load();
  const client = await createClient(sdk, endpoint, address, connectMs);
  /** The client for links. Their signature includes the host, so a public endpoint needs a client of its own. */
  const linking =
    publicEndpoint === '' || publicEndpoint === endpoint
      ? client
      : await createClient(sdk, publicEndpoint, address, connectMs);
  const small = { attemptMs, callMs };
  const large = { attemptMs: uploadAttemptMs, callMs: uploadMs };

  return {
    sdk,
    client,
    linking,
    call: <Answer>(send: Send<Answer>) => call(small, send),
    /** A call that only checks whether the store is available. */
    check: <Answer>(send: Send<Answer>) => call({ attemptMs: checkMs, callMs: checkMs }, send),
    /** A call that sends `byteCount` bytes. The signal can abort the call. */
    carry: <Answer>(byteCount: number, send: Send<Answer>, signal?: AbortSignal) =>
      call(byteCount > smallBytesMax ? large : small, send, signal),
    close(): void {
      client.destroy();
      linking.destroy();
    },
  };
}

async function createClient(
  sdk: Awaited<ReturnType<typeof load>>,
  endpoint: string,
  { credentials }: S3Address,
  connectMs: number,
): Promise<S3Client> {
  const settings: S3ClientConfig = {
    ...(endpoint !== '' && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    // Many stores other than Amazon's reject the SDK's default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The Expect header would make every part use its own connection.
    expectContinueHeader: false,
    maxAttempts: attemptsMax,
    requestHandler: {
      connectionTimeout: connectMs,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: socketsMax },
      httpsAgent: { maxSockets: socketsMax },
    },
  };
  const client = new sdk.S3Client(settings);
  if (endpoint === '') return client;
  const region = await client.config.region().catch(() => usualRegion);
  client.destroy();
  return new sdk.S3Client({ ...settings, region });
}

/**
 * Makes one call with all its attempts. The total time is limited here, because the SDK does not limit the pauses
 * between attempts.
 */
async function call<Answer>(limitMs: { attemptMs: number; callMs: number }, send: Send<Answer>, signal?: AbortSignal) {
  const sending = new AbortController();
  const ended = Promise.withResolvers<never>();
  const end = (error: Error) => {
    ended.reject(toStorageFailure(error));
    sending.abort();
  };
  const leave = () => end(new Error('the caller has left'));
  const timer = setTimeout(() => end(new Error(`no answer within ${limitMs.callMs} ms`)), limitMs.callMs);
  using _ = onAbort(signal, leave);
  try {
    const sent = send({ abortSignal: sending.signal, requestTimeout: limitMs.attemptMs });
    return await Promise.race([ended.promise, sent]);
  } catch (error) {
    throw toStorageFailure(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Creates an error handler that returns undefined for errors with these names and rethrows other errors. */
export const absentIf =
  (...names: string[]) =>
  (error: unknown): undefined => {
    const { cause } = error as { cause?: Error };
    if (!(error instanceof Failure) || !names.includes(cause?.name ?? '')) throw error;
  };

const fullNames = ['QuotaExceeded', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded'];

export function toStorageFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { name, $metadata, $response } = error as Error & Partial<ServiceException>;
  const status = $metadata?.httpStatusCode ?? $response?.statusCode;
  // The store's own message is not logged. The name of the error is the store's code.
  const answer = new Error(`the store answers ${status}`);
  if (codeIn(name) === name) answer.name = name;
  const cause = status === undefined ? error : answer;
  return status === 507 || fullNames.includes(name)
    ? new Failure('storage_full', {}, cause)
    : new Failure('storage_unavailable', { retryAfterSeconds: 1 }, cause);
}

/** The members of the SDK's error for an answer of the store; `$response` if the answer cannot be parsed. */
interface ServiceException {
  $metadata: { httpStatusCode?: number };
  $response: { statusCode?: number };
}
