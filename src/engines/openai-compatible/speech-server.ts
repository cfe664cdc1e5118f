// A server that speaks OpenAI's HTTP interface: POST /v1/audio/speech with a JSON body answers the sound as it is made,
// GET /v1/audio/voices tells who speaks there (not at OpenAI itself, which has no such list). What it answers is not
// taken on trust: a status of 200 may come with no sound, with an error in JSON, or with an MP3 where bare samples were
// asked for. Every request is made once; a failure says whether the same may go well a moment later.
import { Failure } from '../../errors.ts';

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
  speak(asked: { voice: string; text: string }, signal: AbortSignal): AsyncGenerator<Buffer>;
  /** Undefined where the server has no list. */
  listVoices(signal: AbortSignal): Promise<ListedVoice[] | undefined>;
}

const listBytesMax = 1 << 20;
/** How much of an error is kept for the log. */
const toldBytesMax = 500;
/** It may pass, and nobody says when. */
const retrySecondsUnknown = 0;
/** What is no sound, or sound in a coding that was not asked for. */
const otherTypes = /json|html|xml|mpeg|mp3|mp4|aac|ogg|opus|flac|webm/i;

export function createSpeechServer({ url, apiKey, model }: SpeechServerOptions): SpeechServer {
  const headers = { ...(apiKey !== '' && { Authorization: `Bearer ${apiKey}` }) };

  return {
    async *speak({ voice, text }, signal) {
      const body = JSON.stringify({ model, input: text, voice, response_format: 'pcm', stream: true });
      const all = { ...headers, 'Content-Type': 'application/json' };
      const answer = await reach(`${url}/audio/speech`, { method: 'POST', headers: all, body, signal }, signal);
      const type = answer.headers.get('content-type') ?? '';
      if (!answer.ok || otherTypes.test(type))
        throw failureOf(answer, `${type} ${await startOf(answer, toldBytesMax, signal)}`);
      let isBegun = false;
      try {
        for await (const piece of answer.body ?? []) {
          const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
          if (!isBegun && isText(bytes)) throw failureOf(answer, bytes.toString('utf8', 0, toldBytesMax));
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
      if (!answer.ok) throw failureOf(answer, text.slice(0, toldBytesMax));
      return parseVoices(text);
    },
  };
}

/** An answer, whatever it says; a Failure where there is none. */
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

/** What an answer says, or the first so many bytes of it; as much as there is, where it is cut off. */
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
    // For the log, or to be missed by who reads the list, this is enough.
    signal.throwIfAborted();
  }
  return Buffer.concat(pieces).toString('utf8', 0, bytesMax);
}

/** What is the server's fault, what is ours, and what will pass. */
function failureOf({ status, headers }: Response, text: string): Failure {
  const cause = new Error(`the server answers ${status}: ${text}`);
  const retryAfterSeconds = secondsIn(headers.get('retry-after')) ?? retrySecondsUnknown;
  if (status === 429 || (status >= 502 && status <= 504))
    return new Failure('engine_unavailable', { retryAfterSeconds }, cause);
  // A key that is wrong or spent is the operator's to mend.
  if (status === 401 || status === 402 || status === 403) return new Failure('engine_unavailable', {}, cause);
  const mayPass = status >= 500 && status !== 501;
  return new Failure('engine_error', mayPass ? { retryAfterSeconds } : {}, cause);
}

/** Retry-After (RFC 9110): seconds, or the date when they are over; undefined where it says neither. */
function secondsIn(told: string | null): number | undefined {
  if (told === null) return undefined;
  const seconds = /^\d+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
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
