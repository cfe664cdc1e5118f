// Google's client, reduced to the calls that this engine makes. Opening the engine imports the client and signs it in.
// The client's own retries and timeouts are off. Cloning keys are requested over REST with the client's login, since
// the client has no method for them.
import { readFile } from 'node:fs/promises';
import type { TextToSpeechClient } from '@google-cloud/text-to-speech';
import { Failure, type Reason } from '../../errors.ts';
import { onAbort } from '../../runtime/abort.ts';
import { reasonOf } from '../../runtime/system-errors.ts';
import { traceHeaders } from '../../telemetry/trace.ts';
import type { ListedVoice } from './google-voices.ts';

export interface GoogleLogin {
  /** Path of a service account's key file, or "adc" for the environment's login (Application Default Credentials). */
  credentials: string;
  /** A host, or "http://127.0.0.1:1234" for a local emulator, which needs no login. */
  endpoint: string;
}

/** A Google voice by name, or a clone by key. */
export interface GoogleVoice {
  languageCode: string;
  name?: string;
  cloningKey?: string;
}

interface SpeechOptions {
  voice: GoogleVoice;
  speakingRate: number;
}

type StreamOptions = SpeechOptions & { texts: readonly string[] };

export type GoogleClient = Awaited<ReturnType<typeof openGoogleClient>>;

export const streamRateHz = 24_000;
const scope = 'https://www.googleapis.com/auth/cloud-platform';
const usualPort = 443;
/** Longest message from Google, enough for the WAV of the longest segment. */
const messageBytesMax = 32 << 20;
/** Never reached in practice, because the signal of the segment cancels the call first. */
const timeout = 15 * 60_000;
const calling = { timeout, retry: null };
/** Metadata that makes the call part of the current trace. */
const traced = <Options extends object>(options: Options) => ({ ...options, otherArgs: { headers: traceHeaders() } });

const load = async () => {
  try {
    const [{ TextToSpeechClient: Client }, gax] = await Promise.all([
      import('@google-cloud/text-to-speech'),
      import('google-gax'),
    ]);
    return { Client, grpc: gax.grpc, ...gax.googleAuthLibrary };
  } catch (cause) {
    const message =
      'Google needs packages that are not installed; install them with "npm install @google-cloud/text-to-speech google-gax"';
    throw new Failure('engine_unavailable', { message }, cause);
  }
};
type Loaded = Awaited<ReturnType<typeof load>>;

export async function openGoogleClient({ credentials, endpoint }: GoogleLogin) {
  const google = await load();
  const isOpen = endpoint.startsWith('http://');
  const { hostname, port } = new URL(isOpen ? endpoint : `https://${endpoint}`);
  const auth = isOpen
    ? new google.GoogleAuth({ authClient: new google.PassThroughClient() })
    : await findLogin(google, credentials);
  const client: TextToSpeechClient = new google.Client({
    auth,
    apiEndpoint: hostname,
    port: Number(port) || usualPort,
    // Google's client sets no limit of its own.
    'grpc.max_receive_message_length': messageBytesMax,
    ...(isOpen && { sslCreds: google.grpc.credentials.createInsecure() }),
  });
  // The login is awaited here, because a failed login would otherwise be an unhandled rejection.
  await client.initialize().catch((cause) => {
    const message = 'SONANT_GOOGLE_CREDENTIALS is adc, but this environment has no Google login';
    throw new Failure('engine_unavailable', { message }, new Error((cause as Error).message));
  });
  const url = isOpen ? endpoint : `https://${endpoint}`;
  return {
    async listVoices(signal: AbortSignal): Promise<ListedVoice[]> {
      const [{ voices }] = await answered(client.listVoices({}, { ...calling, signal }), signal);
      return (voices ?? []).map(({ name, languageCodes, ssmlGender }) => {
        return { name: name ?? '', languageCodes: languageCodes ?? [], gender: String(ssmlGender) };
      });
    },
    /** Returns the bytes of a complete WAV. */
    async speak({ voice, text, speakingRate }: SpeechOptions & { text: string }, signal: AbortSignal): Promise<Buffer> {
      // No sample rate is requested: the WAV states the voice's own rate.
      const audioConfig = { audioEncoding: 'LINEAR16' as const, speakingRate };
      const options = { input: { text }, voice: toSelection(voice), audioConfig };
      const [{ audioContent }] = await answered(
        client.synthesizeSpeech(options, { ...traced(calling), signal }),
        signal,
      );
      return Buffer.from((audioContent as Uint8Array | null) ?? []);
    },
    /** Speaks all texts in one call. Yields the bytes of raw samples as Google generates them. */
    stream: (options: StreamOptions, signal: AbortSignal) => streamSpeech(client, options, signal),
    /** `url` is the URL of the REST API. `signIn` returns the authentication headers for it. */
    url,
    signIn: async () => new Headers(await auth.getRequestHeaders(url).catch(loginRefused)),
    close: (): Promise<void> => client.close(),
  };
}

/** The login of a service account, which signs its own tokens, or the environment's login. */
async function findLogin({ GoogleAuth, JWT }: Loaded, credentials: string) {
  if (credentials === 'adc') return new GoogleAuth({ scopes: scope });
  const broken = (why: string) =>
    new Failure('engine_unavailable', { message: `SONANT_GOOGLE_CREDENTIALS: ${credentials} ${why}` });
  const file = await readFile(credentials, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw broken(`cannot be read: ${reasonOf(error)}`);
  });
  const authClient = new JWT({ scopes: [scope] });
  try {
    // The parser's message is dropped, because it would quote parts of the private key.
    authClient.fromJSON(JSON.parse(file));
  } catch {
    throw broken('is not the JSON key file of a Google service account');
  }
  authClient.useJWTAccessWithScope = true;
  return new GoogleAuth({ authClient });
}

const loginRefused = (error: Error): never => {
  throw new Failure('engine_unavailable', {}, new Error(error.message));
};

const toSelection = ({ languageCode, name, cloningKey }: GoogleVoice) => ({
  languageCode,
  ...(name !== undefined && { name }),
  ...(cloningKey !== undefined && { voiceClone: { voiceCloningKey: cloningKey } }),
});

async function answered<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    throw googleFailure(error);
  }
}

async function* streamSpeech(
  client: TextToSpeechClient,
  { voice, texts, speakingRate }: StreamOptions,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const call = client.streamingSynthesize(traced(calling));
  let isLeft = false;
  const leave = () => {
    // The call is cancelled at most once: while the client closes, a second cancellation fails.
    if (!isLeft) call.cancel();
    isLeft = true;
    call.destroy();
  };
  // Errors after the cancellation are ignored.
  call.on('error', () => undefined);
  using _ = onAbort(signal, leave);
  try {
    const streamingAudioConfig = { audioEncoding: 'PCM', sampleRateHertz: streamRateHz, speakingRate };
    call.write({ streamingConfig: { voice: toSelection(voice), streamingAudioConfig } });
    for (const text of texts) call.write({ input: { text } });
    // The input stream is closed at once, because Google gives up after five seconds if it stays open.
    call.end();
    for await (const { audioContent } of call) yield Buffer.from(audioContent ?? []);
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw googleFailure(error, voice.cloningKey);
  } finally {
    leave();
  }
}

interface GoogleStatus {
  code?: number;
  /** In gRPC errors, the message without the code. */
  details?: string;
  message?: string;
  statusDetails?: readonly unknown[];
}

/** Names of the gRPC status codes, by number. */
const codeNames: readonly string[] = (
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED ' +
  'RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS ' +
  'UNAUTHENTICATED'
).split(' ');

const codeOfHttp: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Quotas are counted per minute. If Google does not state the remaining time, half a minute is assumed. */
const quotaSeconds = 30;
/** A temporary fault of unknown duration. */
const passingSeconds = 0;
const sentenceCharsMax = 500;
const tooLong = /sentences? that (?:is|are) too long/i;
/** Matches the message of a call whose login failed or is temporarily unavailable. */
const loginFailed = /metadata from plugin failed/i;
const unreachable = /ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|socket hang up|network|timeout/i;

/**
 * Failures by status code, with the retry delay of temporary faults for which Google states no delay. All other codes
 * are `engine_error`.
 */
const outcomes: Readonly<Record<string, { reason: Reason; retryAfterSeconds?: number }>> = {
  UNAVAILABLE: { reason: 'engine_unavailable', retryAfterSeconds: passingSeconds },
  ABORTED: { reason: 'engine_unavailable', retryAfterSeconds: passingSeconds },
  CANCELLED: { reason: 'engine_unavailable', retryAfterSeconds: passingSeconds },
  RESOURCE_EXHAUSTED: { reason: 'engine_unavailable', retryAfterSeconds: quotaSeconds },
  INTERNAL: { reason: 'engine_error', retryAfterSeconds: passingSeconds },
  UNKNOWN: { reason: 'engine_error', retryAfterSeconds: passingSeconds },
  DATA_LOSS: { reason: 'engine_error', retryAfterSeconds: passingSeconds },
  UNAUTHENTICATED: { reason: 'engine_unavailable' },
  PERMISSION_DENIED: { reason: 'engine_unavailable' },
  DEADLINE_EXCEEDED: { reason: 'engine_timeout' },
};

/** The Failure for an error that Google returned, or for a failed connection. */
export function googleFailure(error: unknown, secret = ''): Failure {
  if (error instanceof Failure) return error;
  const { code, details, message, statusDetails = [] } = error as GoogleStatus;
  const sentence = withoutSecret(String(details ?? message ?? error).slice(0, sentenceCharsMax), secret);
  const codeName = code === undefined ? undefined : codeNames[code];
  const cause = new Error(codeName ? `Google answers ${codeName}: ${sentence}` : sentence);
  if (loginFailed.test(sentence)) {
    const facts = unreachable.test(sentence) ? { retryAfterSeconds: passingSeconds } : {};
    return new Failure('engine_unavailable', facts, cause);
  }
  const { reason, retryAfterSeconds } = outcomes[codeName ?? ''] ?? { reason: 'engine_error' };
  if (retryAfterSeconds === undefined) return new Failure(reason, {}, cause);
  return new Failure(reason, { retryAfterSeconds: delaySecondsOf(statusDetails) ?? retryAfterSeconds }, cause);
}

/**
 * Converts a REST error, `{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message", "details"}}`, to the form
 * of a gRPC status.
 */
export function toGoogleStatus(httpStatus: number, answer: unknown): GoogleStatus {
  const { error } = (answer ?? {}) as { error?: { status?: unknown; message?: unknown; details?: unknown } };
  const named = codeNames.indexOf(String(error?.status));
  const code = named > 0 ? named : codeNames.indexOf(codeOfHttp[httpStatus] ?? 'UNKNOWN');
  return {
    code,
    details: typeof error?.message === 'string' ? error.message : `status ${httpStatus}`,
    statusDetails: Array.isArray(error?.details) ? error.details : [],
  };
}

/** Whether Google would accept the text in shorter sentences. */
export const isSentenceTooLong = (error: unknown): boolean =>
  error instanceof Failure && error.cause instanceof Error && tooLong.test(error.cause.message);

/** The delay in RetryInfo: `{seconds, nanos}` in gRPC, "12.5s" in JSON. */
function delaySecondsOf(details: readonly unknown[]): number | undefined {
  for (const detail of details) {
    const { retryDelay } = (detail ?? {}) as { retryDelay?: string | { seconds?: unknown; nanos?: unknown } };
    if (retryDelay === undefined || retryDelay === null) continue;
    const seconds =
      typeof retryDelay === 'string'
        ? Number(retryDelay.replace(/s$/, ''))
        : Number(retryDelay.seconds ?? 0) + Number(retryDelay.nanos ?? 0) / 1e9;
    if (seconds > 0) return seconds;
  }
  return undefined;
}

/** Removes the secret, because Google may quote refused input or its beginning. */
function withoutSecret(sentence: string, secret: string): string {
  if (secret === '') return sentence;
  const hidden = '(cloning key)';
  return sentence
    .replaceAll(secret, hidden)
    .replace(/[\w+/=-]{6,}/g, (word) => (secret.includes(word) ? hidden : word));
}
