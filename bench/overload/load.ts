// Offers requests for speech to a service. In a closed loop, clients wait for each answer and repeat a refused request
// at the stated time; an open loop has a fixed rate. A stream counts as served if all of its audio arrives within five
// seconds and equals the audio of the same text without load.
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenCheckout } from '../measuring/open-checkout.ts';
import { passage, shortText } from '../measuring/texts.ts';

export interface Offered {
  /** Time to the first audio; set only if the request was served completely and in time. */
  firstMs: number | undefined;
  /** Time until the response was complete, or refused. */
  endMs: number;
  /** Whether the request was refused with 503. Requests neither served nor refused were late or cut off. */
  isRefused: boolean;
  /** Whether the request repeats a refused request at the time that the refusal stated. */
  isReturn: boolean;
}

export interface Load {
  service: OpenCheckout;
  seconds: number;
  request(n: number): SpeechWanted;
  /** Time after which clients without any audio disconnect. Default: they wait. */
  leaveMs?: number;
}

export interface SpeechWanted {
  fields: object;
  /** The expected audio, if known. */
  sound?: Buffer | undefined;
}

/** Time after which incomplete audio does not count as served. */
const usefulMsMax = 5000;

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

const textsMax = 8;

const streamOf = (n: number): object => ({
  ...{ voice_id: 'arthur', method: 'streaming', text_chunks: [shortText(n % textsMax)], output_format: 'pcm' },
});

/** Returns requests for streams of one sentence, with the audio that the service returns without load. */
export async function learnStreams(service: OpenCheckout): Promise<Load['request']> {
  const sounds: Buffer[] = [];
  for (let n = 0; n < textsMax; n++) sounds.push((await ask(service, { fields: streamOf(n) })).bytes);
  return (n) => ({ fields: streamOf(n), sound: sounds[n % textsMax] });
}

export const longText = (n: number): SpeechWanted => ({
  fields: { voice_id: 'arthur', text: `${n}: ${passage(800, n)}`, return_format: 'url', output_format: 'wav' },
});

/** Runs one client that pauses after each request for the duration of that request. */
export async function pacedLoop({ service, seconds, request }: Load): Promise<Offered[]> {
  const all: Offered[] = [];
  const untilMs = performance.now() + 1000 * seconds;
  for (let n = 0; performance.now() < untilMs; n++) {
    const { offered } = await ask(service, request(n));
    all.push(offered);
    await sleep(offered.endMs);
  }
  return all;
}

/** Runs `clients` clients, one request at a time each. */
export async function closedLoop({ service, seconds, request }: Load, clients: number): Promise<Offered[]> {
  const all: Offered[] = [];
  const untilMs = performance.now() + 1000 * seconds;
  let n = 0;
  const run = async () => {
    let isReturn = false;
    while (performance.now() < untilMs) {
      const { retryAfterMs, offered } = await ask(service, request(n++), { isReturn });
      all.push(offered);
      isReturn = retryAfterMs !== undefined;
      if (retryAfterMs === undefined) continue;
      if (performance.now() + retryAfterMs > untilMs) return;
      await sleep(retryAfterMs);
    }
  };
  await Promise.all(Array.from({ length: clients }, run));
  return all;
}

/** Sends `perSecond` requests a second, evenly. */
export async function openLoop({ service, seconds, request, leaveMs }: Load, perSecond: number): Promise<Offered[]> {
  const running: Promise<Offered>[] = [];
  const begunMs = performance.now();
  for (let n = 0; n < seconds * perSecond; n++) {
    const waitMs = begunMs + (1000 * n) / perSecond - performance.now();
    if (waitMs > 1) await sleep(waitMs);
    running.push(ask(service, request(n), { leaveMs }).then(({ offered }) => offered));
  }
  return Promise.all(running);
}

interface Answered {
  offered: Offered;
  bytes: Buffer;
  retryAfterMs: number | undefined;
}

interface Asking {
  isReturn?: boolean;
  leaveMs?: number | undefined;
}

function ask(
  { port, apiKey }: OpenCheckout,
  { fields, sound }: SpeechWanted,
  { isReturn = false, leaveMs }: Asking = {},
): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const begunMs = performance.now();
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const where = { agent, port, host: '127.0.0.1', method: 'POST', path: '/api/audio/speech' };
  const call = httpRequest({ ...where, headers });
  call.on('error', (error: NodeJS.ErrnoException) => {
    // If too many clients wait, or too many of one address, a connection may fail or be closed.
    const offered = { firstMs: undefined, endMs: performance.now() - begunMs, isRefused: false, isReturn };
    if (error.code === 'ECONNRESET' || error.code === 'ETIMEDOUT')
      resolve({ offered, bytes: Buffer.alloc(0), retryAfterMs: undefined });
    else reject(error);
  });
  call.on('response', (answer) => {
    const isOk = answer.statusCode === 200;
    const isRefused = answer.statusCode === 503;
    if (!isOk && !isRefused) reject(new Error(`status ${answer.statusCode}`));
    clearTimeout(leaving);
    let firstMs: number | undefined;
    const pieces: Buffer[] = [];
    answer.on('data', (piece: Buffer) => {
      firstMs ??= performance.now() - begunMs;
      pieces.push(piece);
    });
    answer.on('error', reject);
    answer.on('end', () => {
      const retryAfterMs = isRefused ? 1000 * Number(answer.headers['retry-after']) : undefined;
      const endMs = performance.now() - begunMs;
      const bytes = Buffer.concat(pieces);
      if (isOk && sound && !bytes.equals(sound)) reject(new Error('the sound is not that of the text'));
      const isServed = isOk && (sound === undefined || endMs <= usefulMsMax);
      const offered = { firstMs: isServed ? firstMs : undefined, endMs, isRefused, isReturn };
      resolve({ offered, bytes, retryAfterMs });
    });
  });
  const leaving = leaveMs === undefined ? undefined : setTimeout(() => call.destroy(), leaveMs);
  call.end(JSON.stringify(fields));
  return promise;
}
