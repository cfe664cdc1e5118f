// Delivers the messages in the table: claims what is due, tries each once, and notes what came of it. Several processes may
// do so at once. A message that a killed process held is claimed again when its lease is over, so it may arrive twice, with
// the same id.
import type { DueMessage, WebhookMessageRow, WebhookOutcome, WebhookRows } from '../store/webhook-rows.ts';
import {
  attemptMs,
  attemptsMax,
  attemptsPerAccountMax,
  attemptsPerHostMax,
  endedKeepMs,
  leaseMs,
  pollMs,
} from './limits.ts';
import { type PostAnswer, postMessage } from './post-message.ts';
import { nextAttemptMs } from './retry-schedule.ts';
import { signedHeaders } from './signature.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';
import type { WebhookTargets } from './webhook-target.ts';

export interface SenderOptions {
  rows: WebhookRows;
  secrets: Pick<WebhookSecrets, 'signing'>;
  targets: WebhookTargets;
  onFault(fault: unknown): void;
  /** Called for each message that has ended. */
  onEnd?(ended: {
    messageId: string;
    host: string;
    outcome: WebhookOutcome;
    attempts: number;
    lastResult: string;
  }): void;
  now?: () => number;
  random?: () => number;
  /** Certificates to trust instead of the usual ones. */
  ca?: string;
  limits?: { pollMs: number; attemptMs: number };
}

export type WebhookSender = ReturnType<typeof openWebhookSender>;

const gone = 410;
const resultCharsMax = 300;
const userAgent = 'Sonant-Webhooks';

export function openWebhookSender(options: SenderOptions) {
  const { rows, onFault, now = Date.now, limits = { pollMs, attemptMs } } = options;
  const closing = new AbortController();
  const running = new Map<string, { message: DueMessage; done: Promise<void> }>();
  let looking: Promise<void> | undefined;
  let isWoken = false;
  let sweptAtMs = 0;

  const count = (of: 'host' | 'accountId', value: string) =>
    [...running.values()].filter(({ message }) => message[of] === value).length;
  const hasRoom = ({ host, accountId }: DueMessage) =>
    running.size < attemptsMax &&
    count('host', host) < attemptsPerHostMax &&
    count('accountId', accountId) < attemptsPerAccountMax;

  const begin = async (message: DueMessage): Promise<void> => {
    const claimed = await rows.claim(message.messageId, now(), now() + leaseMs);
    if (!claimed) return;
    const done = attempt(claimed, options, AbortSignal.any([closing.signal, AbortSignal.timeout(limits.attemptMs)]))
      .catch(async (error: unknown) => {
        if (!closing.signal.aborted) throw error;
        await rows.release(claimed.messageId);
      })
      .catch(onFault)
      .finally(() => {
        running.delete(claimed.messageId);
        wake();
      });
    running.set(claimed.messageId, { message, done });
  };

  const look = async (): Promise<void> => {
    while (isWoken && !closing.signal.aborted) {
      isWoken = false;
      if (now() - sweptAtMs > endedKeepMs / 24) {
        sweptAtMs = now();
        await rows.deleteEnded(now() - endedKeepMs);
      }
      const due = await rows.listDue(now(), { perHost: attemptsPerHostMax, limit: 4 * attemptsMax });
      for (const message of due)
        if (!closing.signal.aborted && !running.has(message.messageId) && hasRoom(message)) await begin(message);
    }
  };
  const wake = (): void => {
    isWoken = true;
    if (closing.signal.aborted) return;
    looking ??= look()
      .catch(onFault)
      .finally(() => {
        looking = undefined;
        if (isWoken) wake();
      });
  };
  const timer = setInterval(wake, limits.pollMs);
  wake();

  return {
    wake,
    /** Waits until nothing is under way that is due. */
    async settle(): Promise<void> {
      while (looking || running.size > 0) {
        await looking;
        await Promise.all([...running.values()].map(({ done }) => done));
      }
    },
    /** Gives back what is under way. */
    async close(): Promise<void> {
      clearInterval(timer);
      closing.abort(new Error('the service is stopping'));
      await looking;
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

/** One attempt, and its record; rejects only where that cannot be made or the sender is closing. */
async function attempt(message: WebhookMessageRow, options: SenderOptions, signal: AbortSignal): Promise<void> {
  const { rows, secrets, now = Date.now, random = Math.random, onEnd } = options;
  const { messageId, host, attempts, createdAtMs } = message;
  const end = async (outcome: WebhookOutcome, lastResult: string) => {
    await rows.end(messageId, outcome, lastResult, now());
    onEnd?.({ messageId, host, outcome, attempts, lastResult });
  };
  const signing = await secrets.signing(message.keyId);
  if (signing.length === 0) return end('unsigned', 'the key has no secret to sign with');
  const { result, answer } = await post(message, signing, options, signal);
  if (answer && answer.status >= 200 && answer.status < 300) return end('delivered', result);
  if (answer?.status === gone) return end('gone', result);
  const next = nextAttemptMs({ createdAtMs, attempts, nowMs: now(), retryAfter: answer?.retryAfter }, random());
  if (next === undefined) return end('given up', result);
  await rows.postpone(messageId, next, result);
}

async function post(
  { messageId, url: given, body, attempts }: WebhookMessageRow,
  signing: readonly string[],
  { targets, ca, now = Date.now }: SenderOptions,
  signal: AbortSignal,
): Promise<{ result: string; answer?: PostAnswer }> {
  try {
    const fault = targets.faultOf(given);
    if (fault !== undefined) return { result: `the URL ${fault}` };
    const url = new URL(given);
    const addresses = await abortable(targets.addressesOf(url), signal);
    // Another one each time.
    const address = addresses[(attempts - 1) % addresses.length]!;
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': userAgent,
      ...signedHeaders({ messageId, body, atMs: now() }, signing),
    };
    const answer = await postMessage({ url, address, headers, body, signal, ca });
    return { result: `status ${answer.status}`, answer };
  } catch (error) {
    if (signal.aborted && !isTimeout(signal.reason)) throw error;
    return { result: signal.aborted ? 'no answer in time' : resultOf(error) };
  }
}

const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';

const resultOf = (error: unknown): string =>
  (error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code || error.name : String(error)).slice(
    0,
    resultCharsMax,
  );

/** Ends with the signal, also where the work does not. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener('abort', abort));
}
