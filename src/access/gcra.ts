// The generic cell rate algorithm: a rate per minute with a burst. Its whole state is one time, at which the full burst is
// available again; each request moves it later by one interval.
//
//     now            burst * interval from now
//      |-------------|------------------> time
//           full at: at most here, else the request is rejected
//
// In whole microseconds, so that memory and Redis compute the same result.

export interface Rate {
  perMinute: number;
  /** How many may come at once. */
  burst: number;
}

export interface Taken {
  isAllowed: boolean;
  /** When the full burst is available again: the new state. */
  fullAtUs: number;
  /** How long until the next is allowed; 0: now. */
  waitUs: number;
}

const minuteUs = 60_000_000;
export const intervalOf = ({ perMinute }: Rate): number => Math.ceil(minuteUs / perMinute);

const spentOf = (fullAtUs: number, nowUs: number): number => Math.max(fullAtUs, nowUs) - nowUs;

/** How many are allowed now, and how long until the full burst is available again. */
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
