// A server with OpenAI's HTTP interface: POST /v1/audio/speech with a JSON body returns sound as it is made, GET
// /v1/audio/voices lists the voices (OpenAI itself has no such list). Responses are checked: a status of 200 may come with
// no sound, with an error in JSON, or with an MP3 where raw samples were requested. Every request is made once; a failure
// states whether the same request may succeed later.
import { Failure } from '../../errors.ts';
import { traceHeaders } from '../../telemetry/trace.ts';
import { ServerFull } from './server-full.ts';

export interface SpeechServerOptions {
  /** Such as "http://localhost:8880/v1", without a slash at its end. */
  url: string;
  apiKey: string;
  model: string;
}

export interface ListedVoice {
  id: string;
  name: string;
}

export interface SpeechServer {
  /** The bytes of the sound, from the first on. */
  speak(request: { voice: string; text: string }, signal: AbortSignal): AsyncGenerator<Buffer>;
  /** Undefined where the server has no list. */
  listVoices(signal: AbortSignal): Promise<ListedVoice[] | undefined>;
}

const listBytesMax = 1 << 20;
/** How much of an error goes into the log. */
const errorBytesMax = 500;
/** It may pass, at an unknown time. */
const retrySecondsUnknown = 0;
/** No sound, or sound in a coding that was not requested. */
const otherTypes = /json|html|xml|mpeg|mp3|mp4|aac|ogg|opus|flac|webm/i;

export function createSpeechServer({ url, apiKey, model }: SpeechServerOptions): SpeechServer {
  const headers = { ...(apiKey !== '' && { Authorization: `Bearer ${apiKey}` }) };

  return {
    async *speak({ voice, text }, signal) {
      const body = JSON.stringify({ model, input: text, voice, response_format: 'pcm', stream: true });
      const all = { ...headers, ...traceHeaders(), 'Content-Type': 'application/json' };
      const answer = await reach(`${url}/audio/speech`, { method: 'POST', headers: all, body, signal }, signal);
      const type = answer.headers.get('content-type') ?? '';
      if (!answer.ok || otherTypes.test(type))
        throw failureOf(answer, `${type} ${await startOf(answer, errorBytesMax, signal)}`);
      let isBegun = false;
      try {
        for await (const piece of answer.body ?? []) {
          const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
          if (!isBegun && isText(bytes)) throw failureOf(answer, bytes.toString('utf8', 0, errorBytesMax));
          isBegun = true;
          yield bytes;
        }
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof Failure) throw error;
        throw new Failure('engine_error', { retryAfterSeconds: retrySecondsUnknown }, error);
      }
    },

    async listVoices(signal) {
      const answer = await reach(`${url}/audio/voices`, { headers, signal }, signal);
      const text = await startOf(answer, listBytesMax, signal);
      if (answer.status === 404 || answer.status === 405) return undefined;
      if (!answer.ok) throw failureOf(answer, text.slice(0, errorBytesMax));
      return parseVoices(text);
    },
  };
}

/** A response of any status; a Failure where there is none. */
async function reach(url: string, request: RequestInit, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (cause) {
    signal.throwIfAborted();
    throw new Failure('engine_unavailable', { retryAfterSeconds: retrySecondsUnknown }, cause);
  }
}

/** An error that is sent as sound: no sound begins with sixteen letters, each pair of them a quarter of full scale. */
const isText = (bytes: Buffer): boolean =>
  bytes.length >= 16 && /^[\x20-\x7e\s]{16}/.test(bytes.toString('latin1', 0, 16));

/** The first bytes of a response, or as many as arrived before it was cut off. */
async function startOf(answer: Response, bytesMax: number, signal: AbortSignal): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer.body ?? []) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= bytesMax) break;
    }
  } catch {
    // A partial body is enough for the log; a partial list does not parse.
    signal.throwIfAborted();
  }
  return Buffer.concat(pieces).toString('utf8', 0, bytesMax);
}

/** Tells apart the server's faults, ours, and what will pass. */
function failureOf({ status, headers }: Response, text: string): Failure {
  const cause = new Error(`the server answers ${status}: ${text}`);
  const retryAfterSeconds = secondsIn(headers.get('retry-after')) ?? retrySecondsUnknown;
  if (status === 429 || status === 503) return new ServerFull(retryAfterSeconds, cause);
  if (status === 502 || status === 504) return new Failure('engine_unavailable', { retryAfterSeconds }, cause);
  // Only the operator can replace a key that is wrong or has no credit left.
  if (status === 401 || status === 402 || status === 403) return new Failure('engine_unavailable', {}, cause);
  const mayPass = status >= 500 && status !== 501;
  return new Failure('engine_error', mayPass ? { retryAfterSeconds } : {}, cause);
}

/** Retry-After (RFC 9110): seconds, or the date when they are over; undefined where it says neither. */
function secondsIn(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return seconds > 0 ? Math.ceil(seconds) : undefined;
}

/** `{"voices": [...]}` of texts, or of objects with an id or a name, as servers of this kind have it. */
function parseVoices(text: string): ListedVoice[] | undefined {
  let list: unknown;
  try {
    const parsed = JSON.parse(text) as { voices?: unknown; data?: unknown };
    list = Array.isArray(parsed) ? parsed : (parsed.voices ?? parsed.data);
  } catch {
    return undefined;
  }
  if (!Array.isArray(list)) return undefined;
  const voices = list.flatMap((item: unknown): ListedVoice[] => {
    if (typeof item === 'string') return [{ id: item, name: item }];
    const { id, voice_id, name } = (item ?? {}) as Record<string, unknown>;
    const own = [id, voice_id, name].find((value) => typeof value === 'string') as string | undefined;
    return own === undefined ? [] : [{ id: own, name: typeof name === 'string' ? name : own }];
  });
  return voices.filter(({ id }) => id.length >= 1 && id.length <= 128);
}
