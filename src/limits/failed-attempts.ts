// Failed attempts to show a key, by the address that they come from: so many a minute, then they hear that there were
// too many. Who comes with a right key is not held to it; a secret that people choose is not even looked at by then. An
// IPv6 network counts as one address, for its owner has them all.
import { isIPv6 } from 'node:net';
import { Failure } from '../errors.ts';
import { type Rate, takeOne } from './gcra.ts';

export interface FailedAttempts {
  /** Notes a failed attempt: `rate_limit_exceeded` where there were too many. */
  noteFailure(address: string): void;
  /** The same refusal for an address that has none left, without noting anything. */
  check(address: string): void;
}

export interface FailedAttemptsOptions {
  perMinute: number;
  now?: () => number;
  /** Tells other processes of a failure, and how long from now all attempts are there again, theirs counted too. */
  share?: ((name: string, rate: Rate) => Promise<number>) | undefined;
}

const addressesMax = 50_000;

export function createFailedAttempts({ perMinute, now = Date.now, share }: FailedAttemptsOptions): FailedAttempts {
  const rate = { perMinute, burst: perMinute };
  /** In the order of their last failures. */
  const fullAtUs = new Map<string, number>();
  const refuse = (waitUs: number) => {
    const message = 'Too many attempts without a valid API key came from this address.';
    const retryAfterSeconds = waitUs / 1_000_000;
    throw new Failure('rate_limit_exceeded', { message, limit: perMinute, limitReason: 'requests', retryAfterSeconds });
  };
  const nowUs = () => Math.round(now() * 1000);
  const take = (name: string) => takeOne(fullAtUs.get(name) ?? 0, nowUs(), rate);
  /** What others know counts for the next attempt: nobody waits to hear of it, and where it cannot be had, not at all. */
  const learn = async (name: string) => {
    const fullInUs = await share?.(name, rate).catch(() => undefined);
    if (fullInUs === undefined) return;
    keep(name, Math.max(fullAtUs.get(name) ?? 0, nowUs() + fullInUs));
  };
  const keep = (name: string, time: number) => {
    fullAtUs.delete(name);
    fullAtUs.set(name, time);
    if (fullAtUs.size > addressesMax) fullAtUs.delete(fullAtUs.keys().next().value!);
  };
  return {
    check(address) {
      const { isAllowed, waitUs } = take(networkOf(address));
      if (!isAllowed) refuse(waitUs);
    },
    noteFailure(address) {
      const name = networkOf(address);
      const taken = take(name);
      keep(name, taken.fullAtUs);
      void learn(name);
      if (!taken.isAllowed) refuse(taken.waitUs);
    },
  };
}

/** Of an IPv6 address the first 64 bits. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.toLowerCase().startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail ? tail.split(':') : [];
  const whole = tail === undefined ? groups : [...groups, ...Array(8 - groups.length - rest.length).fill('0'), ...rest];
  return whole.slice(0, 4).join(':');
}
