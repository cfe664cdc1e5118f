// Requests for speech that are offered to a service: by so many clients that each wait for an answer before they ask again
// and come back when a refusal says so, or so many in a second, whatever becomes of those before.
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenCheckout } from '../measuring/open-checkout.ts';
import { passage, shortText } from '../measuring/texts.ts';

export interface Offered {
  /** Set for what was served. */
  firstMs: number | undefined;
  /** Until all of it was there, or it was refused. */
  endMs: number;
  /** Whether it is the return of one that was refused, at the time that it was told. */
  isReturn: boolean;
}

export interface Load {
  service: OpenCheckout;
  seconds: number;
  fields(n: number): object;
}

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

export const stream = (n: number): object => ({
  ...{ voice_id: 'arthur', method: 'streaming', text_chunks: [shortText(n)], output_format: 'pcm' },
});

export const longText = (n: number): object => ({
  ...{ voice_id: 'arthur', text: `${n}: ${passage(800, n)}`, return_format: 'url', output_format: 'wav' },
});

/** So many clients, one request at a time each. */
export async function closedLoop({ service, seconds, fields }: Load, clients: number): Promise<Offered[]> {
  const all: Offered[] = [];
  const untilMs = performance.now() + 1000 * seconds;
  let n = 0;
  const run = async () => {
    let isReturn = false;
    while (performance.now() < untilMs) {
      const { retryAfterMs, ...offered } = await ask(service, fields(n++), isReturn);
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

/** So many a second, evenly. */
export async function openLoop({ service, seconds, fields }: Load, perSecond: number): Promise<Offered[]> {
  const running: Promise<Offered>[] = [];
  const begunMs = performance.now();
  for (let n = 0; n < seconds * perSecond; n++) {
    const waitMs = begunMs + (1000 * n) / perSecond - performance.now();
    if (waitMs > 1) await sleep(waitMs);
    running.push(ask(service, fields(n), false));
  }
  return Promise.all(running);
}

function ask(
  { port, apiKey }: OpenCheckout,
  fields: object,
  isReturn: boolean,
): Promise<Offered & { retryAfterMs: number | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<Offered & { retryAfterMs: number | undefined }>();
  const begunMs = performance.now();
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const call = request({ agent, port, host: '127.0.0.1', method: 'POST', path: '/api/audio/speech', headers });
  call.on('error', reject);
  call.on('response', (answer) => {
    const isServed = answer.statusCode === 200;
    if (!isServed && answer.statusCode !== 503) reject(new Error(`status ${answer.statusCode}`));
    let firstMs: number | undefined;
    answer.on('data', () => (firstMs ??= performance.now() - begunMs));
    answer.on('error', reject);
    answer.on('end', () => {
      const retryAfterMs = isServed ? undefined : 1000 * Number(answer.headers['retry-after']);
      const endMs = performance.now() - begunMs;
      resolve({ firstMs: isServed ? firstMs : undefined, endMs, isReturn, retryAfterMs });
    });
  });
  call.end(JSON.stringify(fields));
  return promise;
}
