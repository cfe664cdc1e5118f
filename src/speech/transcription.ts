// Asks a speech recognizer what a recording says: any server with OpenAI's `POST /v1/audio/transcriptions`. The server
// states word times if it can. Its answer is not trusted: it is limited in size and time, an answer for a recording of
// another length is refused, and redirects are refused, because a request contains the recording and the key.

import { wavFile } from '../audio.ts';
import { Failure } from '../platform/errors.ts';
import { languageOf } from '../platform/language-code.ts';
import { describeBody, parseAnswer, readUpTo, retryAfterMs } from '../platform/net/upstream-answer.ts';

export interface Transcript {
  text: string;
  /** The start of each word in seconds, by its offset in the text; empty if the server states no word times. */
  starts: Map<number, number>;
}

/** Throws a Failure if the server does not answer with a transcript, with `retryAfterSeconds` if it may answer later. */
export type Transcribe = (recording: Recorded, signal: AbortSignal) => Promise<Transcript>;

interface Recorded {
  samples: Float32Array;
  sampleRateHz: number;
  languageCode: string;
}

interface TranscriberOptions {
  /** Base URL such as "http://localhost:8000/v1". */
  url: string;
  apiKey: string;
  model: string;
}

const answerBytesMax = 4 << 20;
/** Longest part of a recording in one request, because servers limit the size of a file. */
const partSecondsMax = 300;
/** A part ends at the quietest moment of its last seconds. */
const quietSearchSeconds = 30;
const quietSeconds = 0.2;
/** The server may round the length of the recording. */
const lengthToleranceSeconds = 1;
/** Time limit: a minute, and twice the length of the recording. */
const answerMsLeast = 60_000;
const shareOfLength = 2;

/** Returns undefined if no server is configured. */
export function openTranscriber({ url, apiKey, model }: TranscriberOptions): Transcribe | undefined {
  if (url === '') return undefined;
  /** Whether the server has refused word times. */
  let isPlain = false;

  async function ask(recorded: Recorded, signal: AbortSignal, asPlain = isPlain): Promise<Response> {
    const { samples, sampleRateHz, languageCode } = recorded;
    const form = new FormData();
    form.set('file', new Blob([wavFile(samples, sampleRateHz)], { type: 'audio/wav' }), 'speech.wav');
    form.set('model', model);
    form.set('language', languageOf(languageCode));
    form.set('temperature', '0');
    form.set('response_format', asPlain ? 'json' : 'verbose_json');
    if (!asPlain) form.set('timestamp_granularities[]', 'word');
    const headers = { ...(apiKey !== '' && { Authorization: `Bearer ${apiKey}` }) };
    const request: RequestInit = { method: 'POST', headers, body: form, redirect: 'error', signal };
    const answer = await fetch(`${url}/audio/transcriptions`, request);
    if (asPlain || ![400, 422].includes(answer.status)) return answer;
    await answer.body?.cancel();
    const plain = await ask(recorded, signal, true);
    // A server that refuses the recording in both forms may still state word times of others.
    if (plain.ok) isPlain = true;
    return plain;
  }

  async function hear(recorded: Recorded, signal: AbortSignal): Promise<Transcript> {
    const seconds = recorded.samples.length / recorded.sampleRateHz;
    const limit = AbortSignal.timeout(Math.round(answerMsLeast + shareOfLength * 1000 * seconds));
    try {
      const answer = await ask(recorded, AbortSignal.any([signal, limit]));
      const body = await readUpTo(answer, answerBytesMax);
      if (!body) throw unavailable(`answered with more than ${answerBytesMax >> 20} MiB`);
      const transcript = answer.ok ? toTranscript(body) : undefined;
      if (transcript && isOfLength(transcript, seconds)) return transcript;
      if (transcript) throw unavailable('answered for another recording', 0);
      const status = `${answer.status}, ${describeBody(answer.headers.get('content-type'), body)}`;
      const waitMs = retryAfterMs(answer.headers.get('retry-after'));
      throw unavailable(`answered ${status}`, answer.status < 500 && answer.status !== 429 ? waitMs : (waitMs ?? 0));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      throw unavailable(limit.aborted ? 'did not answer in time' : 'cannot be reached', 0, error);
    }
  }

  return async (recorded, signal) => {
    const whole: Transcript = { text: '', starts: new Map() };
    let from = 0;
    do {
      const to = endOfPart(recorded, from);
      const part = await hear({ ...recorded, samples: recorded.samples.subarray(from, to) }, signal);
      if (whole.text !== '') whole.text += ' ';
      for (const [at, start] of part.starts)
        whole.starts.set(whole.text.length + at, from / recorded.sampleRateHz + start);
      whole.text += part.text;
      from = to;
    } while (from < recorded.samples.length);
    return whole;
  };
}

/** The end of the part that begins at a sample. */
function endOfPart({ samples, sampleRateHz }: Recorded, from: number): number {
  const longest = from + partSecondsMax * sampleRateHz;
  if (samples.length <= longest) return samples.length;
  const window = Math.round(quietSeconds * sampleRateHz);
  let [best, least] = [longest, Infinity];
  for (let at = longest - quietSearchSeconds * sampleRateHz; at + window <= longest; at += window) {
    const energy = samples.subarray(at, at + window).reduce((sum, sample) => sum + sample * sample, 0);
    if (energy < least) [best, least] = [at + (window >> 1), energy];
  }
  return best;
}

const unavailable = (what: string, waitMs?: number, cause?: unknown): Failure => {
  const wait = waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1000) };
  return new Failure('engine_unavailable', { message: `The transcription server ${what}.`, ...wait }, cause);
};

/** The transcript of one part of a recording. */
interface PartTranscript extends Transcript {
  /** Length of the part, if the server states it; some servers state it as text. */
  duration: unknown;
}

/** Whether the transcript may be of a recording of this length, as far as the server states times. */
const isOfLength = ({ duration, starts }: PartTranscript, seconds: number): boolean =>
  (!(Number(duration) > 0) || Math.abs(Number(duration) - seconds) <= lengthToleranceSeconds) &&
  Math.max(0, ...starts.values()) <= seconds + lengthToleranceSeconds;

/** Returns undefined if the body is not a transcript. The words of a server with word times are its text. */
function toTranscript(body: Buffer): PartTranscript | undefined {
  const { text, words, duration } = Object(parseAnswer(body));
  if (typeof text !== 'string') return undefined;
  const timed = Array.isArray(words) ? words.map(toWord) : [];
  const starts = new Map<number, number>();
  if (timed.length === 0 || timed.includes(undefined)) return { text, starts, duration };
  // Some servers state where a word continues the one before: " $42" and ".50", not "$42" and "50".
  const hasSpaces = timed.some((word) => word!.text.startsWith(' '));
  let joined = '';
  for (const word of timed) {
    if (joined !== '' && (!hasSpaces || word!.text.startsWith(' '))) joined += ' ';
    starts.set(joined.length, word!.start);
    joined += word!.text.trim();
  }
  return { text: joined, starts, duration };
}

function toWord(given: unknown): { text: string; start: number } | undefined {
  const { word, start } = Object(given);
  return typeof word === 'string' && Number.isFinite(start) && start >= 0 ? { text: word, start } : undefined;
}
