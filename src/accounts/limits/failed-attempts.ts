// Limits attempts with an invalid key or token per client address. Attempts above the limit fail with
// `rate_limit_exceeded`; calls with a valid key are not affected. Before they verify a human-chosen secret, callers
// call `check`. An IPv6 /64 network counts as one address, because one client can use all of its addresses.
import { Failure } from '../../platform/errors.ts';
import { networkOf } from '../../platform/net/client-addresses.ts';
import { type Rate, takeOne } from '../../platform/rate.ts';

export type FailedAttempts = ReturnType<typeof createFailedAttempts>;

interface FailedAttemptsOptions {
  perMinute: number;
  now?: () => number;
  /**
   * Counts an attempt for all replicas. Resolves to the time in microseconds until all attempts are available again.
   */
  share?: ((name: string, rate: Rate) => Promise<number>) | undefined;
}

const addressesMax = 50_000;

export function createFailedAttempts({ perMinute, now = Date.now, share }: FailedAttemptsOptions) {
  const rate = { perMinute, burst: perMinute };
  /** The time when all attempts of a network are available again. Entries are in the order of their last failures. */
  const fullAtUs = new Map<string, number>();
  const reject = (waitUs: number) => {
    const message = 'Too many attempts without a valid API key came from this address.';
    const retryAfterSeconds = waitUs / 1_000_000;
    throw new Failure('rate_limit_exceeded', { message, limit: perMinute, limitReason: 'requests', retryAfterSeconds });
  };
  const nowUs = () => Math.round(now() * 1000);
  const take = (name: string) => takeOne(fullAtUs.get(name) ?? 0, nowUs(), rate);
  const store = (name: string, time: number) => {
    fullAtUs.delete(name);
    fullAtUs.set(name, time);
    if (fullAtUs.size > addressesMax) fullAtUs.delete(fullAtUs.keys().next().value!);
  };
  /** Counts the attempt for all replicas. Attempts at other replicas affect only later attempts here. */
  const synchronize = async (name: string) => {
    const fullInUs = await share?.(name, rate).catch(() => undefined);
    if (fullInUs === undefined) return;
    store(name, Math.max(fullAtUs.get(name) ?? 0, nowUs() + fullInUs));
  };
  return {
    /** Like `noteFailure`, but counts nothing. */
    check(address: string): void {
      const { isAllowed, waitUs } = take(networkOf(address));
      if (!isAllowed) reject(waitUs);
    },
    /** Counts a failed attempt. Throws `rate_limit_exceeded` if there were too many. */
    noteFailure(address: string): void {
      const name = networkOf(address);
      const taken = take(name);
      store(name, taken.fullAtUs);
      void synchronize(name);
      if (!taken.isAllowed) reject(taken.waitUs);
    },
  };
}
