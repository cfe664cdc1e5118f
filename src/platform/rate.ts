// The generic cell rate algorithm allows a rate per minute with a burst. Its only state is the time at which the full
// burst is available again; each request moves this time later by one interval. All times are whole microseconds, so
// that this file and shared-limits.sql, which calls it rate-limit.ts, compute the same results.
//     now            burst * interval from now
//      |-------------|------------------> time
//             full at: at most here, else the request is rejected

export interface Rate {
  perMinute: number;
  /** Number of requests that may arrive at once. */
  burst: number;
}

interface Taken {
  isAllowed: boolean;
  /** The new state: the time at which the full burst is available again. */
  fullAtUs: number;
  /** Time until the next request is allowed; 0 if it is allowed now. */
  waitUs: number;
}

const minuteUs = 60_000_000;
export const intervalOf = ({ perMinute }: Rate): number => Math.ceil(minuteUs / perMinute);

const spentOf = (fullAtUs: number, nowUs: number): number => Math.max(fullAtUs, nowUs) - nowUs;

/** Returns the number of requests allowed now, and the time until the full burst is available again. */
export function statusAt(fullAtUs: number, nowUs: number, rate: Rate): { remaining: number; fullInUs: number } {
  const fullInUs = spentOf(fullAtUs, nowUs);
  const intervalUs = intervalOf(rate);
  return { remaining: Math.floor((rate.burst * intervalUs - fullInUs) / intervalUs), fullInUs };
}

export function takeOne(fullAtUs: number, nowUs: number, rate: Rate): Taken {
  const intervalUs = intervalOf(rate);
  const capacityUs = rate.burst * intervalUs;
  const spentUs = spentOf(fullAtUs, nowUs);
  const isAllowed = spentUs + intervalUs <= capacityUs;
  const nowSpentUs = isAllowed ? spentUs + intervalUs : spentUs;
  return {
    isAllowed,
    fullAtUs: nowUs + nowSpentUs,
    waitUs: Math.max(0, nowSpentUs + intervalUs - capacityUs),
  };
}
