// Delivers the messages in the table: claims what is due, tries each once, and notes what came of it. Several processes may
// do so at once. A message that a killed process held is claimed again when its lease is over, so it may arrive twice, with
// the same id.
import type { DueMessage, WebhookRows } from '../store/webhook-rows.ts';
import {
  attemptMs,
  attemptsMax,
  attemptsPerAccountMax,
  attemptsPerHostMax,
  endedKeepMs,
  leaseMs,
  pollMs,
} from './limits.ts';
import { type AttemptOptions, attempt } from './webhook-attempt.ts';

export interface SenderOptions extends AttemptOptions {
  rows: WebhookRows;
  onFault(fault: unknown): void;
  limits?: { pollMs: number; attemptMs: number };
}

const sweepMs = 3_600_000;
/** More of an account than it may have under way: those to hosts that have no room are passed over. */
const dueLimits = { perHost: attemptsPerHostMax, perAccount: 2 * attemptsPerAccountMax, limit: 4 * attemptsMax };

export type WebhookSender = ReturnType<typeof openWebhookSender>;

interface Running {
  message: DueMessage;
  done: Promise<void>;
}

/** What is under way, and whether more may be. */
function createRunning() {
  const running = new Map<string, Running>();
  const count = (of: 'host' | 'accountId', value: string) =>
    [...running.values()].filter(({ message }) => message[of] === value).length;
  return {
    add: (one: Running) => void running.set(one.message.messageId, one),
    delete: (messageId: string) => running.delete(messageId),
    canTake: ({ messageId, host, accountId }: DueMessage): boolean =>
      !running.has(messageId) &&
      running.size < attemptsMax &&
      count('host', host) < attemptsPerHostMax &&
      count('accountId', accountId) < attemptsPerAccountMax,
    isEmpty: () => running.size === 0,
    allDone: () => Promise.all([...running.values()].map(({ done }) => done)),
  };
}

export function openWebhookSender(options: SenderOptions) {
  const { rows, onFault, now = Date.now, limits = { pollMs, attemptMs } } = options;
  const closing = new AbortController();
  const running = createRunning();
  let looking: Promise<void> | undefined;
  let isWoken = false;
  let sweptAtMs = 0;

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
    running.add({ message, done });
  };

  const look = async (): Promise<void> => {
    while (isWoken && !closing.signal.aborted) {
      isWoken = false;
      if (now() - sweptAtMs > sweepMs) {
        sweptAtMs = now();
        await rows.deleteEnded(now() - endedKeepMs);
      }
      const due = await rows.listDue(now(), dueLimits);
      for (const message of due) if (!closing.signal.aborted && running.canTake(message)) await begin(message);
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
      while (looking || !running.isEmpty()) {
        await looking;
        await running.allDone();
      }
    },
    /** Gives back what is under way. */
    async close(): Promise<void> {
      clearInterval(timer);
      closing.abort(new Error('the service is stopping'));
      await looking;
      await running.allDone();
    },
  };
}
