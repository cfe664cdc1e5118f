// Google's API, reduced to the calls that this engine makes, without retries and timeouts. Opening the engine loads
// Google's library for logins, and signs in. Cloning keys are requested over REST with the same login, since the gRPC
// service has no method for them.
import { readFile } from 'node:fs/promises';
import type { CallOptions } from '@connectrpc/connect';
import { Failure, type Reason } from '../../errors.ts';
import { codeIn, limitWait } from '../../net/upstream-answer.ts';
import { onAbort, withAbort } from '../../runtime/abort.ts';
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
/** Longest message from Google, enough for the WAV of the longest segment. */
const messageBytesMax = 32 << 20;

const load = async () => {
  const [{ ConnectError, createClient }, { createGrpcTransport, Http2SessionManager }, speech, rpc, auth] =
    await Promise.all([
      import('@connectrpc/connect'),
      import('@connectrpc/connect-node'),
      import('../../../gen/google/cloud/texttospeech/v1/cloud_tts_pb.ts'),
      import('../../../gen/google/rpc/error_details_pb.ts'),
      import('google-auth-library').catch((cause) => {
        const message =
          'Google needs a package that is not installed; install it with "npm install google-auth-library"';
        throw new Failure('engine_unavailable', { message }, cause);
      }),
    ]);
  return { ConnectError, createClient, createGrpcTransport, Http2SessionManager, ...speech, ...rpc, ...auth };
};
type Loaded = Awaited<ReturnType<typeof load>>;

export async function openGoogleClient({ credentials, endpoint }: GoogleLogin) {
  const google = await load();
  const isOpen = endpoint.startsWith('http://');
  const url = isOpen ? endpoint : `https://${endpoint}`;
  const auth = isOpen
    ? new google.GoogleAuth({ authClient: new google.PassThroughClient() })
    : await findLogin(google, credentials);
  await auth.getClient().catch((cause) => {
    const message = 'SONANT_GOOGLE_CREDENTIALS is adc, but this environment has no Google login';
    throw new Failure('engine_unavailable', { message }, toCause('cannot sign in', cause));
  });
  const sessionManager = new google.Http2SessionManager(url);
  const client = google.createClient(
    google.TextToSpeech,
    google.createGrpcTransport({ baseUrl: url, sessionManager, readMaxBytes: messageBytesMax }),
  );
  /** Returns the authentication headers. Abandons the work on abort, since the library accepts no signal. */
  const signIn = async (signal: AbortSignal) =>
    new Headers(await withAbort(signal, auth.getRequestHeaders(url).catch(loginRefused)));

  /** Makes a call within the current trace. */
  async function* call<T>(signal: AbortSignal, run: (options: CallOptions) => AsyncIterable<T>): AsyncGenerator<T> {
    // Connect sends CANCEL only if the signal has the usual reason.
    const leaving = new AbortController();
    using _ = onAbort(signal, () => leaving.abort());
    try {
      const headers = await signIn(signal);
      for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
      yield* run({ headers, signal: leaving.signal });
      signal.throwIfAborted();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      const answered = google.ConnectError.from(error);
      const { code, rawMessage: message } = answered;
      const [{ retryDelay } = {}] = answered.findDetails(google.RetryInfoSchema);
      const delaySeconds = Number(retryDelay?.seconds ?? 0) + (retryDelay?.nanos ?? 0) / 1e9;
      throw googleFailure({ code, message, delaySeconds });
    } finally {
      leaving.abort();
    }
  }
  return {
    async listVoices(signal: AbortSignal): Promise<ListedVoice[]> {
      const [answer] = await Array.fromAsync(call(signal, (options) => once(client.listVoices({}, options))));
      return answer!.voices.map(({ name, languageCodes, ssmlGender }) => {
        return { name, languageCodes, gender: google.SsmlVoiceGenderSchema.value[ssmlGender]?.name ?? '' };
      });
    },
    /** Yields the bytes of a complete WAV. */
    async *speak({ voice, text, speakingRate }: SpeechOptions & { text: string }, signal: AbortSignal) {
      const request = {
        input: { inputSource: { case: 'text' as const, value: text } },
        voice: toSelection(voice),
        // No sample rate is requested: the WAV states the voice's own rate.
        audioConfig: { audioEncoding: google.AudioEncoding.LINEAR16, speakingRate },
      };
      for await (const { audioContent } of call(signal, (options) => once(client.synthesizeSpeech(request, options))))
        yield toBuffer(audioContent);
    },
    /** Speaks all texts in one call. Yields the bytes of raw samples as Google generates them. */
    async *stream({ voice, texts, speakingRate }: StreamOptions, signal: AbortSignal) {
      const streamingAudioConfig = {
        audioEncoding: google.AudioEncoding.PCM,
        sampleRateHertz: streamRateHz,
        speakingRate,
      };
      // The input stream ends at once, because Google gives up after five seconds if it stays open.
      async function* requests() {
        const value = { voice: toSelection(voice), streamingAudioConfig };
        yield { streamingRequest: { case: 'streamingConfig' as const, value } };
        for (const text of texts) {
          const inputSource = { case: 'text' as const, value: text };
          yield { streamingRequest: { case: 'input' as const, value: { inputSource } } };
        }
      }
      const run = (options: CallOptions) => client.streamingSynthesize(requests(), options);
      for await (const { audioContent } of call(signal, run)) yield toBuffer(audioContent);
    },
    /** URL of the REST API. */
    url,
    signIn,
    close: () => sessionManager.abort(),
  };
}

async function* once<T>(answer: Promise<T>): AsyncGenerator<T> {
  yield await answer;
}

const toBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength);

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

/** Only a login without an answer may be repeated. The library wraps the errors of connections. */
const loginRefused = (error: Error): never => {
  let inner = error;
  while (inner.cause instanceof Error) inner = inner.cause;
  const isUnanswered = /^(E[A-Z]|UND_ERR)/.test(String((inner as NodeJS.ErrnoException).code));
  const facts = isUnanswered ? { retryAfterSeconds: passingSeconds } : {};
  const cause = isUnanswered ? new Error(`cannot sign in: ${reasonOf(inner)}`) : toCause('cannot sign in', error);
  throw new Failure('engine_unavailable', facts, cause);
};

/** The error to log. A message of Google, which may quote texts and keys, is reduced to a known code. */
function toCause(fault: string, { message }: Pick<Error, 'message'>): Error {
  const code = codeIn(message);
  return new Error(code === '' ? fault : `${fault}: ${code}`);
}

const toSelection = ({ languageCode, name, cloningKey }: GoogleVoice) => ({
  languageCode,
  ...(name !== undefined && { name }),
  ...(cloningKey !== undefined && { voiceClone: { voiceCloningKey: cloningKey } }),
});

interface GoogleStatus {
  code: number;
  message: string;
  /** The delay after which Google allows a repetition; 0 if Google states none. */
  delaySeconds: number;
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
const tooLong = /sentences? that (?:is|are) too long/i;

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
export function googleFailure({ code, message, delaySeconds }: GoogleStatus): Failure {
  const codeName = codeNames[code]!;
  const cause = toCause(`Google answers ${codeName}`, { message });
  const { reason, retryAfterSeconds } = outcomes[codeName] ?? { reason: 'engine_error' };
  if (retryAfterSeconds === undefined) return new Failure(reason, {}, cause);
  return new Failure(reason, { retryAfterSeconds: limitWait(delaySeconds || retryAfterSeconds) }, cause);
}

/**
 * Converts a REST error, `{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message", "details"}}`, to the form
 * of a gRPC status.
 */
export function toGoogleStatus(httpStatus: number, answer: unknown): GoogleStatus {
  const { error } = (answer ?? {}) as { error?: { status?: unknown; message?: unknown; details?: unknown } };
  const named = codeNames.indexOf(String(error?.status));
  const details: { retryDelay?: unknown }[] = Array.isArray(error?.details) ? error.details : [];
  const delay = details.map((detail) => Number.parseFloat(String(detail?.retryDelay))).find((seconds) => seconds > 0);
  return {
    code: named > 0 ? named : codeNames.indexOf(codeOfHttp[httpStatus] ?? 'UNKNOWN'),
    message: typeof error?.message === 'string' ? error.message : `status ${httpStatus}`,
    delaySeconds: delay ?? 0,
  };
}

/** Whether Google would accept the text in shorter sentences. */
export const isSentenceTooLong = (error: unknown): boolean =>
  error instanceof Failure && error.cause instanceof Error && tooLong.test(error.cause.message);
