// Google's client, reduced to what the engine needs: it is imported when the engine opens, and signs in. Its own retries and
// timeouts are turned off. It has no method for cloning keys; these are requested by REST, with the client's login.
import { readFile } from 'node:fs/promises';
import type { TextToSpeechClient } from '@google-cloud/text-to-speech';
import { Failure } from '../../errors.ts';
import { traceHeaders } from '../../telemetry/trace.ts';
import { googleFailure } from './google-failure.ts';
import type { ListedVoice } from './google-voices.ts';

export interface GoogleLogin {
  /** Path of a service account's file, or "adc" for the login of the environment. */
  credentials: string;
  /** A host, or "http://127.0.0.1:1234" for an emulator on this machine, which is spoken to without a login. */
  endpoint: string;
}

/** One of Google's own, by name, or a clone, by its key. */
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
/** Longer than any segment takes; segments are ended by their signals. */
const timeout = 15 * 60_000;
const calling = { timeout, retry: null };
/** Metadata that continues the trace of the call. */
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
      'Google needs packages that are not installed here; "npm install @google-cloud/text-to-speech google-gax" brings them';
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
    ...(isOpen && { sslCreds: google.grpc.credentials.createInsecure() }),
  });
  // Awaited here, or a login that fails would be an unhandled rejection.
  await client.initialize().catch((cause) => {
    const message = 'SONANT_GOOGLE_CREDENTIALS: there is no such login here';
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
    /** The bytes of a WAV, all at once. */
    async speak({ voice, text, speakingRate }: SpeechOptions & { text: string }, signal: AbortSignal): Promise<Buffer> {
      // The sample rate is the voice's own, and the WAV states it.
      const audioConfig = { audioEncoding: 'LINEAR16' as const, speakingRate };
      const options = { input: { text }, voice: toSelection(voice), audioConfig };
      const [{ audioContent }] = await answered(
        client.synthesizeSpeech(options, { ...traced(calling), signal }),
        signal,
      );
      return Buffer.from((audioContent as Uint8Array | null) ?? []);
    },
    /** The bytes of bare samples as they are made, of all the texts in one call. */
    stream: (options: StreamOptions, signal: AbortSignal) => streamSpeech(client, options, signal),
    /** Where REST is spoken, and the headers that sign in there. */
    url,
    signIn: async () => new Headers(await auth.getRequestHeaders(url).catch(loginRefused)),
    close: (): Promise<void> => client.close(),
  };
}

/** The login of a service account, which signs for itself, or that of the environment. */
async function findLogin({ GoogleAuth, JWT }: Loaded, credentials: string) {
  if (credentials === 'adc') return new GoogleAuth({ scopes: scope });
  const broken = (why: string) =>
    new Failure('engine_unavailable', { message: `SONANT_GOOGLE_CREDENTIALS: ${credentials} ${why}` });
  const file = await readFile(credentials, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw broken(`cannot be read (${error.code})`);
  });
  const authClient = new JWT({ scopes: [scope] });
  try {
    // The parser's message is dropped: it would quote parts of the private key.
    authClient.fromJSON(JSON.parse(file));
  } catch {
    throw broken('is not the file of a service account, as Google gives it out in JSON');
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
    // Once: what is cancelled while the client closes cannot be cancelled again.
    if (!isLeft) call.cancel();
    isLeft = true;
    call.destroy();
  };
  // After cancellation, its errors do not matter.
  call.on('error', () => undefined);
  signal.addEventListener('abort', leave, { once: true });
  try {
    const streamingAudioConfig = { audioEncoding: 'PCM', sampleRateHertz: streamRateHz, speakingRate };
    call.write({ streamingConfig: { voice: toSelection(voice), streamingAudioConfig } });
    for (const text of texts) call.write({ input: { text } });
    // At once: where the end of the texts is open, Google gives up after five seconds.
    call.end();
    for await (const { audioContent } of call) yield Buffer.from(audioContent ?? []);
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw googleFailure(error, voice.cloningKey);
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}
