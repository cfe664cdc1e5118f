// Reads audio from Server-Sent Events, in the dialects of OpenAI, vLLM-Omni, speaches and both versions of SGLang-Omni:
//     data: {"type": "speech.audio.delta", "audio": base64}        data: {"type": "speech.audio.done", "usage": ...}
//     data: {"object": "audio.speech.chunk", "audio": {"data": base64, "sample_rate": 24000}}      data: [DONE]
//     data: {"type": "speech.audio.error" or "error", "error": {"message", "code"}}
// `event:` lines may precede these lines. If the last event is missing, the audio was cut off, even if the HTTP
// response is complete.
import { Failure } from '../../platform/errors.ts';
import { describeBody } from '../../platform/net/upstream-answer.ts';

/** The audio format that the events so far have stated. */
export interface Stated {
  sampleRateHz?: number | undefined;
}

interface SpeechEvent {
  type?: unknown;
  audio?: unknown;
  sample_rate?: unknown;
  finish_reason?: unknown;
  error?: unknown;
}

/** Longest event, enough for two minutes of audio at 24 kHz. */
const eventBytesMax = 8 << 20;

/** Yields the bytes of the audio. A sample rate in an event is stored in `stated` before its audio is yielded. */
export async function* soundOfEvents(
  body: AsyncIterable<Uint8Array>,
  stated: Stated,
  failureOf: (status: number, body: string) => Failure,
): AsyncGenerator<Buffer> {
  let isDone = false;
  for await (const data of dataOf(body)) {
    if (data === '[DONE]') isDone = true;
    // Events after the last one are read and ignored, so that the connection can be reused.
    if (isDone) continue;
    const event = parseEvent(data);
    if (event.error || event.type === 'error' || event.type === 'speech.audio.error') throw errorOf(event, failureOf);
    if (event.finish_reason === 'length') throw cutAtLimit();
    const { data: content, sample_rate: rate } = chunkOf(event);
    if (typeof rate === 'number') state(stated, rate);
    if (typeof content === 'string' && content !== '') yield Buffer.from(content, 'base64');
    isDone = event.type === 'speech.audio.done';
  }
  if (!isDone) throw new Failure('engine_error', { retryAfterSeconds: 0 }, new Error('the last event is missing'));
}

/** The failure of a server that stopped at its token limit. A retry would stop there too. */
export const cutAtLimit = (): Failure =>
  new Failure('engine_error', {}, new Error('the server cut the audio off at its token limit'));

/** The audio of an event: its bytes in base64, or an object that contains them. */
const chunkOf = ({ audio, sample_rate }: SpeechEvent): { data?: unknown; sample_rate?: unknown } =>
  typeof audio === 'object' && audio !== null ? audio : { data: audio, sample_rate };

function state(stated: Stated, rate: number): void {
  if (stated.sampleRateHz !== undefined && stated.sampleRateHz !== rate)
    throw new Failure('engine_error', {}, new Error('the sample rate changes between events'));
  stated.sampleRateHz = rate;
}

function errorOf({ error }: SpeechEvent, failureOf: (status: number, body: string) => Failure): Failure {
  const status = Number((error as { code?: unknown } | undefined)?.code);
  const isStatus = Number.isInteger(status) && status >= 400 && status <= 599;
  return failureOf(isStatus ? status : 500, describeBody('event-stream', JSON.stringify(error ?? '')));
}

function parseEvent(data: string): SpeechEvent {
  try {
    const event: unknown = JSON.parse(data);
    if (typeof event === 'object' && event !== null) return event;
  } catch {
    // The fault is reported below without the parser's message, which would quote the event.
  }
  throw new Failure('engine_error', { retryAfterSeconds: 0 }, new Error('an event is not JSON'));
}

const newLine = 0x0a;
const dataIn = (line: string): string | undefined =>
  line.startsWith('data:') ? line.slice(line[5] === ' ' ? 6 : 5) : undefined;

/** The data of each event, with its lines joined. Each byte is read once, however small the pieces are. */
async function* dataOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let lines: string[] = [];
  let eventBytes = 0;
  /** The beginning of a line whose end has not arrived. */
  let begun = Buffer.alloc(0);
  let begunBytes = 0;
  const add = (bytes: Uint8Array) => {
    eventBytes += bytes.length;
    if (eventBytes > eventBytesMax) throw new Failure('engine_error', {}, new Error('an event is too long'));
    // The buffer doubles, because a string or list of all pieces would take more memory than the line.
    if (begunBytes + bytes.length > begun.length)
      begun = Buffer.concat([begun.subarray(0, begunBytes)], 2 * (begunBytes + bytes.length));
    begun.set(bytes, begunBytes);
    begunBytes += bytes.length;
  };
  for await (const piece of body) {
    let start = 0;
    for (let end = piece.indexOf(newLine); end >= 0; end = piece.indexOf(newLine, start)) {
      add(piece.subarray(start, end + 1));
      const line = decoder.decode(begun.subarray(0, begunBytes)).replace(/\r?\n$/, '');
      start = end + 1;
      begunBytes = 0;
      const data = dataIn(line);
      if (data !== undefined) lines.push(data);
      if (line !== '') continue;
      if (lines.length > 0) yield lines.join('\n');
      lines = [];
      eventBytes = 0;
    }
    add(piece.subarray(start));
  }
  // Some servers leave out the empty line after "[DONE]".
  const rest = dataIn(decoder.decode(begun.subarray(0, begunBytes)).trimEnd());
  if ([...lines, rest].join('') === '[DONE]') yield '[DONE]';
}
