// The line before a number of places: who comes first goes first, and who is urgent before who is not.

export interface WaitingLine {
  /** A place when there is one: call what it answers, once, to give it back. Throws the signal's reason on abort. */
  enter(urgent: boolean, signal: AbortSignal): Promise<() => void>;
}

export function createWaitingLine(places: number): WaitingLine {
  let free = places;
  const urgentOnes: (() => void)[] = [];
  const others: (() => void)[] = [];

  const leave = (): void => {
    const next = urgentOnes.shift() ?? others.shift();
    if (next) next();
    else free++;
  };

  return {
    async enter(urgent, signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free--;
        return leave;
      }
      const line = urgent ? urgentOnes : others;
      await new Promise<void>((resolve, reject) => {
        const step = (): void => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        };
        const giveUp = (): void => {
          line.splice(line.indexOf(step), 1);
          reject(signal.reason);
        };
        line.push(step);
        signal.addEventListener('abort', giveUp, { once: true });
      });
      return leave;
    },
  };
}
