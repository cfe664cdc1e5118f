// Google's API, reduced to the calls that this engine makes, without retries and timeouts. Cloning keys are requested
// over REST with the same login, since the gRPC service has no method for them.
import type { CallOptions } from '@connectrpc/connect';
import { Failure, type Reason } from '../../platform/errors.ts';
import { codeIn, limitWait } from '../../platform/net/upstream-answer.ts';
import { onAbort, withAbort } from '../../platform/runtime/abort.ts';
import { traceHeaders } from '../../platform/telemetry/trace.ts';
import { openGoogleLogin } from './google-login.ts';
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
/** Longest message from Google, enough for the WAV of the longest segment. */
const messageBytesMax = 32 << 20;

const load = async () => {
  const [{ ConnectError, createClient }, { createGrpcTransport, Http2SessionManager }, speech, rpc] = await Promise.all(
    [
      import('@connectrpc/connect'),
      import('@connectrpc/connect-node'),
      import('../../../gen/google/cloud/texttospeech/v1/cloud_tts_pb.ts'),
      import('../../../gen/google/rpc/error_details_pb.ts'),
    ],
  );
  return { ConnectError, createClient, createGrpcTransport, Http2SessionManager, ...speech, ...rpc };
};

export async function openGoogleClient({ credentials, endpoint }: GoogleLogin) {
  const google = await load();
  const isOpen = endpoint.startsWith('http://');
  const url = isOpen ? endpoint : `https://${endpoint}`;
  const login = isOpen ? async () => new Headers() : await openGoogleLogin(credentials);
  const sessionManager = new google.Http2SessionManager(url);
  const client = google.createClient(
    google.TextToSpeech,
    google.createGrpcTransport({ baseUrl: url, sessionManager, readMaxBytes: messageBytesMax }),
  );
  /** Returns the authentication headers. A login continues if its caller leaves, because others wait for it too. */
  const signIn = (signal: AbortSignal) => withAbort(signal, login());

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
