// Client of a server with OpenAI's HTTP interface: POST /v1/audio/speech streams audio, and GET /v1/audio/voices lists
// voices (OpenAI has no such list). Servers differ, so WAVs and Server-Sent Events are accepted as well as raw
// samples. A response with status 200 is checked, since it may be empty, a JSON error or an MP3. If the sample rate is
// unknown, a test sentence is requested as a WAV, whose header states the rate.

import { readWavHeader } from '../../audio.ts';
import { Failure } from '../../platform/errors.ts';
import { describeBody, isCleanText, limitWait, parseAnswer, retryAfterMs } from '../../platform/net/upstream-answer.ts';
import type { Pcm } from '../../platform/pcm.ts';
import { traceHeaders } from '../../platform/telemetry/trace.ts';
import { type BareFormat, barePcm } from '../pcm-stream.ts';
import { ServerFull } from './server-full.ts';
import { cutAtLimit, type Stated, soundOfEvents } from './speech-events.ts';
import { isCloneName, openUploads, type Recording, type UploadedVoice, uploadedIn } from './uploaded-voices.ts';

/** The forms of requested audio: streamed samples, a streamed WAV, streamed events, or a complete WAV. */
export const soundForms = ['pcm', 'wav', 'sse', 'file'] as const;
type SoundForm = (typeof soundForms)[number];

export interface SpeechServerOptions {
  /** Base URL such as "http://localhost:8880/v1", without a trailing slash. */
  url: string;
  apiKey: string;
  /** Name of the model; empty for the model that the server lists. */
  model: string;
  /** "auto" requests samples, or a complete WAV if the server refuses samples. */
  form: 'auto' | SoundForm;
  /** Sample rate if the server states none; 0 if a test request has to find the rate. */
  sampleRateHz: number;
  /** Whether clones that nobody has spoken for a day are deleted when the voices are listed. Default: true. */
  deletesClones?: boolean;
}

export interface SpeechRequest {
  voice: string;
  text: string;
  instructions?: string | undefined;
  seed?: number | undefined;
  /** The clone to speak, which is uploaded if the server lacks it. `voice` is the clone's name at the server. */
  clone?: Recording | undefined;
}

export interface ListedVoice {
  id: string;
  name: string;
}

export interface ServerListing {
  model: string;
  /** The voices except clones; undefined if the server has no list. */
  voices: ListedVoice[] | undefined;
  /** The uploaded voices; undefined if the server does not accept any. */
  uploaded: UploadedVoice[] | undefined;
}

export interface SpeechServer {
  /** Yields the audio as it arrives. Throws `ServerFull` if the server has no room for the request. */
  speak(request: SpeechRequest, signal: AbortSignal): AsyncGenerator<Pcm>;
  listVoices(signal: AbortSignal): Promise<ServerListing>;
  uploadClone(clone: Recording, signal: AbortSignal): Promise<void>;
  /** Deletes a clone. Also succeeds if the server does not have the clone. */
  deleteClone(name: string, signal: AbortSignal): Promise<void>;
}

const listBytesMax = 1 << 20;
const errorBytesMax = 4_096;
/** A temporary fault of unknown duration. */
const retrySecondsUnknown = 0;
/** The limit is long because a server may load its model only for the first sentence. */
const findMsMax = 60_000;
const outcomeMsMax = 2_000;
const sampleRateHzUsual = 24_000;
/** OpenAI's model, used if the server lists no models. */
const modelUsual = 'tts-1';
const modelCharsMax = 128;
const probeText = 'One moment, please.';
/** Content types of responses that are not the requested audio. */
const otherTypes = /json|html|xml|mpeg|mp3|mp4|aac|ogg|opus|flac|webm/i;
const speechModels = /tts|speech|voice|kokoro|orpheus|piper|bark|dia|parler/i;

/** The JSON of a request. Speed, sample rate and language are left out, because some servers refuse them. */
function toBody({ voice, text, instructions, seed }: SpeechRequest, model: string, form: SoundForm) {
  return {
    model,
    input: text,
    voice,
    response_format: form === 'wav' || form === 'file' ? 'wav' : 'pcm',
    // vLLM-Omni and SGLang-Omni differ in what they stream by default, so both fields are sent.
    ...(form !== 'file' && { stream: true, stream_format: form === 'sse' ? 'sse' : 'audio' }),
    instructions,
    seed,
  };
}

export function createSpeechServer(
  options: SpeechServerOptions,
  now: () => number = () => performance.now(),
): SpeechServer {
  const { url, apiKey } = options;
  const headers = { ...(apiKey !== '' && { Authorization: `Bearer ${apiKey}` }) };
  const formFirst: SoundForm = options.form === 'auto' ? 'pcm' : options.form;
  let form = formFirst;
  /** The model found on the server. Reset when the server is unreachable, since a restart may change the model. */
  let model: Promise<string> | undefined;
  let rateHz: Promise<number> | undefined;

  /** Redirects are followed only within the server, because a request may contain texts, recordings and the key. */
  async function send(path: string, request: RequestInit, signal: AbortSignal): Promise<Response> {
    const sent: RequestInit = { ...request, headers: { ...headers, ...request.headers }, redirect: 'manual', signal };
    const answer = await fetch(url + path, sent);
    const target = isRedirect(answer) && URL.parse(answer.headers.get('location') ?? '', url + path);
    if (!target || target.origin !== new URL(url).origin) return answer;
    await answer.body?.cancel();
    return fetch(target, sent);
  }

  /** Returns a response of any status. Throws a Failure if there is no response. */
  async function reach(path: string, request: RequestInit, signal: AbortSignal): Promise<Response> {
    try {
      return await send(path, request, signal);
    } catch (cause) {
      signal.throwIfAborted();
      form = formFirst;
      model = undefined;
      rateHz = undefined;
      uploads.forgetAll();
      throw new Failure('engine_unavailable', { retryAfterSeconds: retrySecondsUnknown }, cause);
    }
  }

  /** The parsed list; undefined if the server has no such list, or refuses the request for it. */
  async function readList(path: string, signal: AbortSignal): Promise<unknown> {
    const answer = await reach(path, {}, signal);
    const body = await startOf(answer, listBytesMax, signal);
    if ([400, 404, 405, 422].includes(answer.status)) return undefined;
    if (!answer.ok) throw answerFailure(answer, body);
    return parseAnswer(body);
  }

  const uploads = openUploads({
    reach,
    list: (signal) => readList('/audio/voices', signal),
    now,
    found,
    refusalOf: async (answer, signal) => answerFailure(answer, await startOf(answer, errorBytesMax, signal)),
  });

  const findModel = async (): Promise<string> => {
    if (options.model !== '') return options.model;
    // The parameter keeps speaches from listing models of other tasks.
    model ??= found(
      (signal) => readList('/models?task=text-to-speech', signal).then(modelIn),
      () => {
        model = undefined;
      },
    );
    return model;
  };

  const post = async (request: SpeechRequest, asked: SoundForm, signal: AbortSignal): Promise<Response> => {
    const body = JSON.stringify(toBody(request, await findModel(), asked));
    const all = { ...traceHeaders(), 'Content-Type': 'application/json' };
    return reach('/audio/speech', { method: 'POST', headers: all, body }, signal);
  };

  /**
   * Returns a response that contains audio. Retries a refused request as 'file' if the server rejects the format, or
   * after restoring a clone that the server lacks.
   */
  async function ask(request: SpeechRequest, signal: AbortSignal, asked = form, isRestored = false): Promise<Response> {
    const { clone } = request;
    if (clone) await uploads.ensure(clone);
    // The rate is found before the request, because a server may have room for only one request at a time.
    if (asked === 'pcm' || asked === 'sse') await findRate(request);
    const answer = await post(request, asked, signal);
    const type = answer.headers.get('content-type') ?? '';
    if (answer.ok && !otherTypes.test(type)) return answer;
    const text = (await startOf(answer, errorBytesMax, signal)).toString();
    const isRefused = [400, 422].includes(answer.status);
    if (
      isRefused &&
      options.form === 'auto' &&
      asked !== 'file' &&
      /response_format|stream_format|\bpcm\b/i.test(text)
    ) {
      const file = await ask(request, signal, 'file', isRestored);
      form = 'file';
      return file;
    }
    const mayLackClone = isRefused || answer.status === 404;
    if (clone && mayLackClone && !isRestored && (await uploads.restore(clone, text.includes(clone.name))))
      return ask(request, signal, asked, true);
    if (answer.status === 404) model = undefined;
    throw answerFailure(answer, text);
  }

  /** Finds the sample rate; undefined if the server has no room for the test sentence. */
  const findRate = async (request: SpeechRequest): Promise<number | undefined> => {
    if (options.sampleRateHz > 0) return options.sampleRateHz;
    rateHz ??= found(
      (signal) => probeRate(request, signal),
      () => {
        rateHz = undefined;
      },
    );
    return rateHz.catch((error) => {
      if (!(error instanceof ServerFull)) throw error;
      return undefined;
    });
  };
  async function probeRate({ voice }: SpeechRequest, signal: AbortSignal): Promise<number> {
    const answer = await post({ voice, text: probeText }, 'file', signal);
    const start = await startOf(answer, answer.ok ? listBytesMax : errorBytesMax, signal);
    const isRefused = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
    if (!answer.ok && !isRefused) throw answerFailure(answer, start);
    const isRiff = start.toString('latin1', 0, 4) === 'RIFF';
    return (isRiff && readWavHeader(start).format?.sampleRateHz) || statedIn(answer).sampleRateHz || sampleRateHzUsual;
  }

  async function* speak(request: SpeechRequest, signal: AbortSignal): AsyncGenerator<Pcm> {
    const answer = await ask(request, signal);
    const stated = statedIn(answer);
    const isEvents = /event-stream/i.test(answer.headers.get('content-type') ?? '');
    const bytes = isEvents ? soundOfEvents(answer.body ?? none(), stated, failureOf) : rawSound(answer);
    const findBare = async (): Promise<BareFormat> => ({
      sampleRateHz: stated.sampleRateHz ?? (await findRate(request)) ?? sampleRateHzUsual,
      channels: stated.channels,
    });
    try {
      yield* barePcm(bytes, findBare);
    } catch (error) {
      signal.throwIfAborted();
      // Once the audio has begun, `ServerFull` means that the server aborted the stream.
      if (error instanceof ServerFull) throw new Failure('engine_error', error.facts, error.cause);
      if (error instanceof Failure) throw error;
      throw new Failure('engine_error', { retryAfterSeconds: retrySecondsUnknown }, error);
    }
    if (!isEvents) await checkOutcome(answer, signal);
  }

  /** Throws if the audio was cut off, which SGLang-Omni reports only afterwards and at a different URL. */
  async function checkOutcome(answer: Response, signal: AbortSignal): Promise<void> {
    const id = answer.headers.get('x-sglang-omni-speech-id');
    if (id === null) return;
    const read = async () => {
      const soon = AbortSignal.any([signal, AbortSignal.timeout(outcomeMsMax)]);
      // `reach` would drop the cached values for the server, although the server has just worked.
      const outcome = await send(`/audio/speech/${encodeURIComponent(id)}`, {}, soon);
      const text = (await startOf(outcome, errorBytesMax, soon)).toString();
      if (outcome.status >= 500 || outcome.status === 429) throw answerFailure(outcome, text);
      return parseAnswer(text) as { finish_reason?: unknown } | undefined;
    };
    const outcome = await read()
      .catch(() => read())
      .catch((error) => {
        signal.throwIfAborted();
        throw new Failure('engine_error', { retryAfterSeconds: retrySecondsUnknown }, error);
      });
    if (outcome?.finish_reason === 'length') throw cutAtLimit();
  }

  return {
    speak,
    async listVoices(signal) {
      const own = await findModel();
      const list = await readList(`/audio/voices?model=${encodeURIComponent(own)}`, signal);
      const uploaded = uploadedIn(list);
      if (options.deletesClones !== false) void uploads.sweep(uploaded ?? [], signal);
      return { model: own, voices: voicesIn(list), uploaded };
    },
    uploadClone: uploads.upload,
    deleteClone: uploads.remove,
  };
}

/** Runs a search whose result all requests share. The search continues if the request that started it is aborted. */
async function found<T>(find: (signal: AbortSignal) => Promise<T>, forget?: () => void): Promise<T> {
  const late = AbortSignal.timeout(findMsMax);
  try {
    return await find(late);
  } catch (error) {
    forget?.();
    if (error instanceof Failure) throw error;
    throw new Failure('engine_unavailable', { retryAfterSeconds: retrySecondsUnknown }, error);
  }
}

async function* none(): AsyncGenerator<Uint8Array> {}

async function* rawSound(answer: Response): AsyncGenerator<Buffer> {
  let isBegun = false;
  for await (const piece of answer.body ?? none()) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    if (!isBegun && isText(bytes)) throw answerFailure(answer, bytes);
    isBegun = true;
    yield bytes;
  }
}

/**
 * Whether the bytes are an error message sent as audio. Real audio does not begin with sixteen printable characters,
 * which would be eight loud samples in a row.
 */
const isText = (bytes: Buffer): boolean =>
  bytes.length >= 16 && /^[\x20-\x7e\s]{16}/.test(bytes.toString('latin1', 0, 16));

/**
 * The format in the headers: `X-Sample-Rate` and `X-Channels` of SGLang-Omni, `audio/pcm;rate=22050` of
 * openedai-speech.
 */
function statedIn({ headers }: Response): Stated & { channels: number } {
  const [, rate] = /;\s*rate=(\d+)/i.exec(headers.get('content-type') ?? '') ?? [];
  const sampleRateHz = Number(headers.get('x-sample-rate') ?? rate ?? 0);
  return {
    sampleRateHz: sampleRateHz > 0 ? sampleRateHz : undefined,
    channels: headers.get('x-channels') === '2' ? 2 : 1,
  };
}

/** The first bytes of a response, or all bytes that arrived before the response was cut off. */
async function startOf(answer: Response, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer.body ?? none()) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= bytesMax) break;
    }
  } catch {
    // A partial body is enough for the log; a partial list does not parse.
    signal.throwIfAborted();
  }
  return Buffer.concat(pieces).subarray(0, bytesMax);
}

const isRedirect = ({ status }: Pick<Response, 'status'>): boolean => [301, 302, 307, 308].includes(status);

const answerFailure = ({ status, headers }: Response, body: Uint8Array | string): Failure =>
  failureOf(status, describeBody(headers.get('content-type'), body), headers.get('retry-after'));

/** The failure for a status: a full server, a temporary or lasting fault of the server, or a fault of this request. */
function failureOf(status: number, body: string, retryAfter: string | null = null): Failure {
  const cause = new Error(`the server answers ${status} (${body})`);
  const retryAfterSeconds = limitWait(Math.ceil((retryAfterMs(retryAfter) ?? retrySecondsUnknown) / 1000));
  if (status === 429 || status === 503) return new ServerFull(retryAfterSeconds, cause);
  if (status === 502 || status === 504) return new Failure('engine_unavailable', { retryAfterSeconds }, cause);
  // Only the operator can replace a key that is wrong or has no credit left, or the URL of a server that redirects.
  if (isRedirect({ status }) || [401, 402, 403].includes(status)) return new Failure('engine_unavailable', {}, cause);
  const mayPass = status >= 500 && status !== 501;
  return new Failure('engine_error', mayPass ? { retryAfterSeconds } : {}, cause);
}

/**
 * The model in OpenAI's `{"data": [{"id"}]}` or in a bare list: "tts-1", else the first name that suggests speech, else
 * the first.
 */
function modelIn(parsed: unknown): string {
  const ids = itemsIn(parsed, 'data').flatMap((item) => {
    const { id, name } = (item ?? {}) as Record<string, unknown>;
    return [id, name].find((value) => typeof value === 'string' && isCleanText(value, modelCharsMax)) ?? [];
  }) as string[];
  if (ids.includes(modelUsual)) return modelUsual;
  return ids.find((id) => speechModels.test(id)) ?? ids[0] ?? modelUsual;
}

/** The voices in `{"voices": [...]}` or in a bare list: strings, or objects with an id or a name. */
function voicesIn(parsed: unknown): ListedVoice[] | undefined {
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const isList = Array.isArray(parsed) || 'voices' in parsed || 'data' in parsed;
  if (!isList) return undefined;
  const voices = itemsIn(parsed, 'voices', 'data').flatMap((item): ListedVoice[] => {
    if (typeof item === 'string') return [{ id: item, name: item }];
    const { id, voice_id, name } = (item ?? {}) as Record<string, unknown>;
    const own = [id, voice_id, name].find((value) => typeof value === 'string') as string | undefined;
    return own === undefined ? [] : [{ id: own, name: typeof name === 'string' ? name : own }];
  });
  // Uploaded clones are left out, because a listed voice would be open to every caller.
  return voices.filter(({ id }) => !isCloneName(id));
}

function itemsIn(parsed: unknown, ...members: readonly string[]): readonly unknown[] {
  const lists = [parsed, ...members.map((name) => (parsed as Record<string, unknown> | undefined)?.[name])];
  return lists.find((list): list is unknown[] => Array.isArray(list)) ?? [];
}
