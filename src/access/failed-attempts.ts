// Rate limit for attempts with an invalid key or token, per client address: above it they fail with `rate_limit_exceeded`.
// Calls with a valid key are not limited by it. A secret that people choose is checked against the limit before it is
// verified. All addresses of an IPv6 /64 network count as one, since one client can use them all.
import { Failure } from '../errors.ts';
import { networkOf } from '../net/client-addresses.ts';
import { type Rate, takeOne } from './rate-limit.ts';

export interface FailedAttempts {
  /** Counts a failed attempt, or fails with `rate_limit_exceeded` if there were too many. */
  noteFailure(address: string): void;
  /** Fails in the same way, but counts nothing. */
  check(address: string): void;
}

interface FailedAttemptsOptions {
  perMinute: number;
  now?: () => number;
  /** Counts an attempt for all replicas. Returns when all attempts are available again, in microseconds from now. */
  share?: ((name: string, rate: Rate) => Promise<number>) | undefined;
}

const addressesMax = 50_000;

export function createFailedAttempts({ perMinute, now = Date.now, share }: FailedAttemptsOptions): FailedAttempts {
  const rate = { perMinute, burst: perMinute };
  /** In the order of the last failures. */
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
  /** Counts the attempts of other replicas from the next attempt on; without Redis they do not count. */
  const synchronize = async (name: string) => {
    const fullInUs = await share?.(name, rate).catch(() => undefined);
    if (fullInUs === undefined) return;
    store(name, Math.max(fullAtUs.get(name) ?? 0, nowUs() + fullInUs));
  };
  return {
    check(address) {
      const { isAllowed, waitUs } = take(networkOf(address));
      if (!isAllowed) reject(waitUs);
    },
    noteFailure(address) {
      const name = networkOf(address);
      const taken = take(name);
      store(name, taken.fullAtUs);
      void synchronize(name);
      if (!taken.isAllowed) reject(taken.waitUs);
    },
  };
}
