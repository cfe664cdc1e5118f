// The time that work will take until its end, as a person reads it, from how fast it went since this command was given.

/** Before so much was done, a rate says nothing. */
const shareMin = 0.002;

/** Call it with how much is done of how much: "" while nothing is known, else such as ", 12 min left". */
export function createTimeLeft(now: () => number = () => performance.now()): (done: number, all: number) => string {
  let first: { atMs: number; done: number } | undefined;
  return (done, all) => {
    first ??= { atMs: now(), done };
    const did = done - first.done;
    if (did < shareMin * all || did === 0) return '';
    return `, ${toDuration(((all - done) * (now() - first.atMs)) / did / 1000)} left`;
  };
}

function toDuration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
