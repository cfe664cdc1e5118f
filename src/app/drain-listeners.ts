// Drains the listeners of the service in parallel, and waits for all of them, even if one fails: what they use is closed
// afterwards.

interface Listener {
  drain(timeoutMs: number): Promise<void>;
}

export async function drainListeners(
  listeners: readonly Listener[],
  timeoutMs: number,
  onFault: (fault: unknown) => void,
): Promise<void> {
  const ends = await Promise.allSettled(listeners.map((listener) => listener.drain(timeoutMs)));
  for (const end of ends) if (end.status === 'rejected') onFault(end.reason);
}
