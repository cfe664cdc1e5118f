// Delivers the messages in the table: claims due messages, tries each once, and records the result. Several processes
// may run at once. A message claimed by a killed process is claimed again when its lease expires, so it may arrive
// twice with the same id.

import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { invalidField } from '../../platform/errors.ts';
import { lookupTo, type OutboundTargets } from '../../platform/net/outbound-targets.ts';
import { retryAfterMs } from '../../platform/net/upstream-answer.ts';
import { isTimeout, withAbort } from '../../platform/runtime/abort.ts';
import { createPolling } from '../../platform/runtime/polling.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import {
  attemptMs,
  attemptsMax,
  attemptsPerAccountMax,
  attemptsPerHostMax,
  bodyBytesMax,
  endedKeepMs,
  leaseMs,
  pollMs,
  retriedMs,
  retryAfterMsMax,
  type WebhookMessage,
  type Webhooks,
  waitSpread,
  waitsMs,
} from './webhook.ts';
import {
  addWebhookMessage,
  type DueMessage,
  type WebhookMessageRow,
  type WebhookOutcome,
  type WebhookRows,
} from './webhook-rows.ts';
import { type WebhookSecrets, whyLost } from './webhook-secrets.ts';
import { signedHeaders } from './webhook-signature.ts';

export interface SenderOptions extends AttemptOptions {
  rows: WebhookRows;
  onFault(fault: unknown): void;
  limits?: { pollMs: number; attemptMs: number };
}

const sweepMs = 3_600_000;
/** Limits on the due messages to read, above the limits on deliveries, because messages to busy hosts are skipped. */
const dueLimits = { perHost: attemptsPerHostMax, perAccount: 2 * attemptsPerAccountMax, limit: 4 * attemptsMax };

interface OpenedWebhooks extends Webhooks {
  /** Waits until no due message is being delivered. */
  settle(): Promise<void>;
  /** Releases the claimed messages. */
  close(): Promise<void>;
}

export function openWebhooks(options: SenderOptions): OpenedWebhooks {
  const { rows, secrets, targets, onFault, now = rows.now, limits = { pollMs, attemptMs } } = options;
  const closing = new AbortController();
  /** The deliveries in progress, by message. */
  const running = new Map<string, { message: DueMessage; done: Promise<void> }>();
  const allDone = () => Promise.all([...running.values()].map(({ done }) => done));
  let sweptAtMs = 0;

  const count = (of: 'host' | 'accountId', value: string) =>
    [...running.values()].filter(({ message }) => message[of] === value).length;
  const canTake = ({ messageId, host, accountId }: DueMessage): boolean =>
    !running.has(messageId) &&
    running.size < attemptsMax &&
    count('host', host) < attemptsPerHostMax &&
    count('accountId', accountId) < attemptsPerAccountMax;
  const begin = async (message: DueMessage): Promise<void> => {
    const nowMs = await now();
    const claimed = await rows.claim(message.messageId, nowMs, nowMs + leaseMs);
    if (!claimed) return;
    const done = attempt(claimed, options, AbortSignal.any([closing.signal, AbortSignal.timeout(limits.attemptMs)]))
      .catch(async (error: unknown) => {
        if (!closing.signal.aborted) throw error;
        await rows.release(claimed.messageId);
      })
      .catch(onFault)
      .finally(() => {
        running.delete(claimed.messageId);
        void polling.wake();
      });
    running.set(message.messageId, { message, done });
  };

  const look = async (): Promise<void> => {
    if (closing.signal.aborted) return;
    const nowMs = await now();
    if (nowMs - sweptAtMs > sweepMs) {
      sweptAtMs = nowMs;
      await rows.deleteEnded(nowMs - endedKeepMs);
    }
    const due = await rows.listDue(nowMs, dueLimits);
    for (const message of due) if (!closing.signal.aborted && canTake(message)) await begin(message);
  };
  const polling = createPolling(look, { everyMs: limits.pollMs, onFault });
  void polling.wake();

  return {
    async check(url, keyId) {
      const fault = targets.faultOf(url);
      if (fault !== undefined) throw refusal(fault);
      if ((await secrets.signing(keyId)).length > 0) return;
      const lost = (await secrets.isLost(keyId))
        ? `, and the secret of the key can no longer be decrypted, ${whyLost}`
        : '';
      throw refusal(`needs a webhook secret of the key${lost}; create one with POST /api/auth/webhook-secret`);
    },
    add: (rows, message) =>
      addWebhookMessage(rows, {
        messageId: message.messageId,
        keyId: message.keyId,
        accountId: message.accountId,
        host: new URL(message.url).host,
        url: message.url,
        body: bodyOf(message),
        createdAtMs: message.atMs,
        dueAtMs: message.atMs,
        attempts: 0,
        heldUntilMs: null,
        endedAtMs: null,
        outcome: null,
        lastResult: null,
      }),
    wake: () => void polling.wake(),
    async settle(): Promise<void> {
      await polling.wake();
      while (running.size > 0) {
        await allDone();
        await polling.wake();
      }
    },
    async close(): Promise<void> {
      closing.abort(new Error('the service is stopping'));
      await polling.close();
      await allDone();
    },
  };
}

interface AttemptOptions {
  rows: Pick<WebhookRows, 'end' | 'now' | 'postpone'>;
  secrets: Pick<WebhookSecrets, 'signing' | 'isLost'>;
  targets: OutboundTargets;
  /** Called for each message whose delivery has ended. */
  onEnd?(ended: EndedMessage): void;
  /** Default: the clock of the database. */
  now?: () => number | Promise<number>;
  random?: () => number;
  /** Certificates to trust instead of Node's own. */
  ca?: string;
}

interface EndedMessage {
  messageId: string;
  host: string;
  outcome: WebhookOutcome;
  attempts: number;
  lastResult: string;
}

const gone = 410;
const resultCharsMax = 300;
const userAgent = 'Sonant-Webhooks';

/** Makes one attempt and records it. Rejects only if the record cannot be written or the sender is closing. */
async function attempt(message: WebhookMessageRow, options: AttemptOptions, signal: AbortSignal): Promise<void> {
  const { rows, secrets, now = rows.now, random = Math.random, onEnd } = options;
  const { messageId, host, attempts, createdAtMs } = message;
  const end = async (outcome: WebhookOutcome, lastResult: string) => {
    await rows.end(messageId, outcome, lastResult, await now());
    onEnd?.({ messageId, host, outcome, attempts, lastResult });
  };
  const signing = await secrets.signing(message.keyId);
  if (signing.length === 0) {
    const isLost = await secrets.isLost(message.keyId);
    return end('unsigned', isLost ? 'the secret of the key cannot be decrypted' : 'the key has no secret to sign with');
  }
  const { result, answer } = await post(message, signing, options, signal);
  if (answer && answer.status >= 200 && answer.status < 300) return end('delivered', result);
  if (answer?.status === gone) return end('gone', result);
  const next = nextAttemptMs({ createdAtMs, attempts, nowMs: await now(), retryAfter: answer?.retryAfter }, random());
  if (next === undefined) return end('given up', result);
  await rows.postpone(messageId, next, result);
}

async function post(
  { messageId, url: given, body, attempts }: WebhookMessageRow,
  signing: readonly string[],
  { targets, ca, now = Date.now }: AttemptOptions,
  signal: AbortSignal,
): Promise<{ result: string; answer?: PostAnswer }> {
  try {
    const fault = targets.faultOf(given);
    if (fault !== undefined) return { result: `the URL ${fault}` };
    const url = new URL(given);
    const addresses = await withAbort(signal, targets.addressesOf(url));
    // Each attempt uses the next address.
    const address = addresses[(attempts - 1) % addresses.length]!;
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': userAgent,
      ...signedHeaders({ messageId, body, atMs: await now() }, signing),
    };
    const answer = await postMessage({ url, address, headers, body, signal, ca });
    return { result: `status ${answer.status}`, answer };
  } catch (error) {
    if (signal.aborted && !isTimeout(signal.reason)) throw error;
    return { result: signal.aborted ? 'no answer in time' : resultOf(error) };
  }
}

const resultOf = (error: unknown): string =>
  (error instanceof Error ? reasonOf(error) || error.name : String(error)).slice(0, resultCharsMax);

interface PostRequest {
  url: URL;
  /** The address to connect to. */
  address: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal;
  /** Certificates to trust instead of Node's own. */
  ca?: string | undefined;
}

interface PostAnswer {
  status: number;
  retryAfter: string | undefined;
}

const answerHeadBytesMax = 16 * 1024;

function postMessage({ url, address, headers, body, signal, ca }: PostRequest): Promise<PostAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PostAnswer>();
  const options: RequestOptions = {
    method: 'POST',
    // A new agent ignores proxies from the environment.
    agent: false,
    lookup: lookupTo(async () => [address]),
    maxHeaderSize: answerHeadBytesMax,
    headers: { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' },
    signal,
  };
  const isSecure = url.protocol === 'https:';
  const request = isSecure ? httpsRequest(url, { ...options, ...(ca && { ca }) }) : httpRequest(url, options);
  request.on('error', reject);
  // An unexpected reply, such as 101 Switching Protocols, closes the connection without an error.
  request.once('close', () => reject(new Error('the connection was closed without an answer')));
  request.once('response', (answer) => {
    resolve({ status: answer.statusCode!, retryAfter: answer.headers['retry-after'] });
    answer.destroy();
  });
  request.end(body);
  return promise;
}

interface Attempted {
  createdAtMs: number;
  /** Number of attempts so far. */
  attempts: number;
  nowMs: number;
  /** The Retry-After header of the response: seconds or a date. */
  retryAfter?: string | undefined;
}

/** Time of the next attempt; undefined after the last one. `random` is between 0 and 1. */
export function nextAttemptMs({ createdAtMs, attempts, nowMs, retryAfter }: Attempted, random: number) {
  const lastMs = createdAtMs + retriedMs;
  if (nowMs >= lastMs) return undefined;
  const wait = waitsMs[Math.min(attempts, waitsMs.length) - 1] ?? waitsMs[0];
  const spread = wait * (1 + waitSpread * (2 * random - 1));
  const asked = Math.min(retryAfterMs(retryAfter, nowMs) ?? 0, retryAfterMsMax);
  return Math.min(Math.round(nowMs + Math.max(spread, asked)), lastMs);
}

const refusal = (message: string) => invalidField('webhook_url', 'url', message);

function bodyOf({ event, atMs, data }: WebhookMessage): string {
  const timestamp = new Date(atMs).toISOString();
  const body = JSON.stringify({ type: event, timestamp, data });
  if (Buffer.byteLength(body) <= bodyBytesMax) return body;
  const { id } = data as { id?: unknown };
  return JSON.stringify({ type: event, timestamp, data: { id } });
}
