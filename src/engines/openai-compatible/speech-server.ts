// A server that speaks OpenAI's HTTP interface: POST /v1/audio/speech with a JSON body answers the sound as it is made,
// GET /v1/audio/voices tells who speaks there (not at OpenAI itself, which has no such list). What it answers is not
// taken on trust: a status of 200 may come with no sound, with an error in JSON, or with a WAV where bare samples were
// asked for. Whatever fails before the first byte of sound is tried again where that can help; nothing is said twice.
import { setTimeout as sleep } from 'node:timers/promises';
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

const attemptsMax = 3;
const retryMs = 250;
/** A server that says to come back later than this is told of at once, instead of being waited for. */
const retryMsMax = 2_000;
const firstByteMs = 60_000;
const stallMs = 30_000;
const listBytesMax = 1 << 20;
const told = 500;

export function createSpeechServer({ url, apiKey, model }: SpeechServerOptions): SpeechServer {
  const headers = { ...(apiKey !== '' && { Authorization: `Bearer ${apiKey}` }) };

  const post = async (body: string, signal: AbortSignal): Promise<Response> => {
    const all = { ...headers, 'Content-Type': 'application/json' };
    const answer = await reach(
      () => fetch(`${url}/audio/speech`, { method: 'POST', headers: all, body, signal }),
      signal,
    );
    const type = answer.headers.get('content-type') ?? '';
    if (answer.ok && !/json|html/.test(type)) return answer;
    const text = (await answer.text().catch(() => '')).slice(0, told);
    throw failureOf(answer, text);
  };

  async function* read(body: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    const stalling = new AbortController();
    const both = AbortSignal.any([signal, stalling.signal]);
    const giveUp = () => stalling.abort(new Failure('engine_timeout', {}, new Error(`${url} sends nothing`)));
    const timer = setTimeout(giveUp, firstByteMs);
    try {
      const answer = await post(body, both);
      for await (const piece of answer.body ?? []) {
        clearTimeout(timer);
        const stalled = setTimeout(giveUp, stallMs);
        yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
        clearTimeout(stalled);
      }
    } catch (error) {
      both.throwIfAborted();
      throw error instanceof Failure ? error : new Failure('engine_error', {}, error);
    } finally {
      clearTimeout(timer);
      stalling.abort(new Error('nobody reads on'));
    }
  }

  return {
    async *speak({ voice, text }, signal) {
      const body = JSON.stringify({ model, input: text, voice, response_format: 'pcm', stream: true });
      for (let attempt = 1; ; attempt++) {
        let isHeard = false;
        try {
          for await (const piece of read(body, signal)) {
            isHeard = true;
            yield piece;
          }
          return;
        } catch (error) {
          signal.throwIfAborted();
          const waitMs = waitMsOf(error, attempt);
          if (isHeard || attempt >= attemptsMax || waitMs === undefined) throw error;
          await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        }
      }
    },

    async listVoices(signal) {
      const answer = await reach(() => fetch(`${url}/audio/voices`, { headers, signal }), signal);
      const text = await answer.text();
      if (answer.status === 404 || answer.status === 405 || text.length > listBytesMax) return undefined;
      if (!answer.ok) throw failureOf(answer, text.slice(0, told));
      return parseVoices(text);
    },
  };
}

/** An answer, whatever it says; a Failure where there is none. */
async function reach(ask: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
  try {
    return await ask();
  } catch (cause) {
    signal.throwIfAborted();
    throw new Failure('engine_unavailable', { retryAfterSeconds: 1 }, cause);
  }
}

/** What is the server's fault, what is ours, and what will pass. */
function failureOf({ status, headers }: Response, text: string): Failure {
  const cause = new Error(`the server answers ${status}: ${text}`);
  const seconds = Number(headers.get('retry-after'));
  const retryAfterSeconds = Number.isFinite(seconds) && seconds > 0 ? seconds : 1;
  const willPass = status === 429 || status === 502 || status === 503 || status === 504;
  if (willPass) return new Failure('engine_unavailable', { retryAfterSeconds }, cause);
  // A key that is wrong or spent is the operator's to mend.
  if (status === 401 || status === 402 || status === 403) return new Failure('engine_unavailable', {}, cause);
  return new Failure('engine_error', {}, cause);
}

/** How long to wait before the next attempt; undefined where none can help. */
function waitMsOf(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof Failure) || error.reason !== 'engine_unavailable') return undefined;
  const { retryAfterSeconds } = error.facts;
  if (retryAfterSeconds === undefined || retryAfterSeconds * 1000 > retryMsMax) return undefined;
  return Math.max(retryMs * 2 ** (attempt - 1), retryAfterSeconds > 1 ? retryAfterSeconds * 1000 : 0);
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
