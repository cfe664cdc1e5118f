// Knows which sockets, sessions and streams of a server are open, so that the server can wait for their end.

interface Closing {
  once(event: 'close', listener: () => void): unknown;
}

/** Keeps the socket in the set until it closes. */
export function keep<T extends Closing>(open: Set<T>, one: T): void {
  open.add(one);
  one.once('close', () => open.delete(one));
}

export const allClosed = (open: Iterable<Closing>): Promise<unknown> =>
  Promise.all(Array.from(open, (one) => new Promise<void>((resolve) => one.once('close', resolve))));
