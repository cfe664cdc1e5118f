// Starts the requests that arrive in turns between client addresses, a few in each turn of the event loop, so that many
// from one address delay neither those of others nor whatever else the process does.

export interface Turns {
  /** Starts the work in its turn; false if too much waits for that address already. */
  take(address: string, work: () => void): boolean;
}

export interface TurnsOptions {
  /** Started in one turn of the event loop. */
  atOnce: number;
  waitingPerAddressMax: number;
}

export function createTurns({ atOnce, waitingPerAddressMax }: TurnsOptions): Turns {
  /** By address, whoever is next first. */
  const lines = new Map<string, (() => void)[]>();
  let [waiting, scheduled] = [0, 0];
  const schedule = () => {
    scheduled++;
    // Each has an immediate of its own: what it has started goes on before the next starts.
    setImmediate(startNext);
  };
  const startNext = () => {
    scheduled--;
    const [next] = lines;
    if (!next) return;
    const [address, line] = next;
    lines.delete(address);
    const work = line.shift()!;
    waiting--;
    if (line.length > 0) lines.set(address, line);
    // An immediate that an immediate sets runs in the next turn of the event loop.
    if (waiting > scheduled) schedule();
    work();
  };
  return {
    take(address, work) {
      const line = lines.get(address) ?? [];
      if (line.length >= waitingPerAddressMax) return false;
      line.push(work);
      lines.set(address, line);
      waiting++;
      if (scheduled < atOnce) schedule();
      return true;
    },
  };
}
