// When those who are refused are to come again: each at a time of its own, as fast as the line moves, so that they do not all
// come back at once to be refused again. Times go round the owners, and are no reservations.
const promiseMsMax = 60_000;
/** Of one owner; further ones get its last time. */
const promisesMax = 256;

export function createRetryTimes(now: () => number) {
  const timesOf = new Map<string, number[]>();

  const countOf = (owner: string): number => {
    const times = timesOf.get(owner);
    while (times && times.length > 0 && times[0]! <= now()) times.shift();
    if (times?.length === 0) timesOf.delete(owner);
    return times?.length ?? 0;
  };

  return {
    /** Promises a return after the wait there is, and after the returns that were promised to others before. */
    promise(owner: string, waitMs: number, intervalMs: number): number {
      const own = countOf(owner);
      let before = own;
      for (const other of [...timesOf.keys()]) if (other !== owner) before += Math.min(countOf(other), own + 1);
      const ms = Math.min(Math.max(waitMs, promiseMsMax), waitMs + before * intervalMs);
      const times = timesOf.get(owner) ?? [];
      if (times.length < promisesMax) {
        const atMs = now() + ms;
        times.splice(times.findLastIndex((each) => each <= atMs) + 1, 0, atMs);
        timesOf.set(owner, times);
      }
      return ms;
    },
  };
}
