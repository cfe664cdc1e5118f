// One attempt to deliver a message, and the record of what came of it.
import type { WebhookMessageRow, WebhookOutcome, WebhookRows } from '../store/webhook-rows.ts';
import { type PostAnswer, postMessage } from './post-message.ts';
import { nextAttemptMs } from './retry-schedule.ts';
import { signedHeaders } from './signature.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';
import type { WebhookTargets } from './webhook-target.ts';

export interface AttemptOptions {
  rows: Pick<WebhookRows, 'end' | 'postpone'>;
  secrets: Pick<WebhookSecrets, 'signing' | 'isLost'>;
  targets: WebhookTargets;
  /** Called for each message that has ended. */
  onEnd?(ended: EndedMessage): void;
  now?: () => number;
  random?: () => number;
  /** Certificates to trust instead of the usual ones. */
  ca?: string;
}

export interface EndedMessage {
  messageId: string;
  host: string;
  outcome: WebhookOutcome;
  attempts: number;
  lastResult: string;
}

const gone = 410;
const resultCharsMax = 300;
const userAgent = 'Sonant-Webhooks';

/** One attempt, and its record; rejects only where that cannot be made or the sender is closing. */
export async function attempt(message: WebhookMessageRow, options: AttemptOptions, signal: AbortSignal): Promise<void> {
  const { rows, secrets, now = Date.now, random = Math.random, onEnd } = options;
  const { messageId, host, attempts, createdAtMs } = message;
  const end = async (outcome: WebhookOutcome, lastResult: string) => {
    await rows.end(messageId, outcome, lastResult, now());
    onEnd?.({ messageId, host, outcome, attempts, lastResult });
  };
  const signing = await secrets.signing(message.keyId);
  if (signing.length === 0) {
    const isLost = await secrets.isLost(message.keyId);
    return end('unsigned', isLost ? 'the secret of the key cannot be read' : 'the key has no secret to sign with');
  }
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
  { targets, ca, now = Date.now }: AttemptOptions,
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
