// The generic cell rate algorithm: so many a minute, so many of them at once. All that is kept is a time, the one at which
// everything would be there again; each that is taken moves it on by one interval.
//
//     now            burst * interval from now
//      |-------------|------------------> time
//           full at: no further than here, else it is too soon
//
// In whole microseconds, so that every store of that time comes to the same answer.

export interface Rate {
  perMinute: number;
  /** How many may come at once. */
  burst: number;
}

export interface Taken {
  isAllowed: boolean;
  /** When everything will be there again; to be kept. */
  fullAtUs: number;
  /** How long to wait before the next may come: 0 where it may come now. */
  waitUs: number;
}

const minuteUs = 60_000_000;
export const intervalOf = ({ perMinute }: Rate): number => Math.ceil(minuteUs / perMinute);

const spentOf = (fullAtUs: number, nowUs: number): number => Math.max(fullAtUs, nowUs) - nowUs;

/** How many may come now, and how long until everything is there again. */
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
