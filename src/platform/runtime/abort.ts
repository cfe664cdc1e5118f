// Listens to an AbortSignal without leaving a listener behind, and joins two of them.

/** Calls `run` when the signal aborts, or at once if it already has. Disposing the result removes the listener. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): Disposable {
  if (signal?.aborted) run();
  else signal?.addEventListener('abort', run, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', run) };
}

/** Returns the result of `work`. Rejects with the signal's reason as soon as the signal aborts; the work continues. */
export async function withAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  using _ = onAbort(signal, () => aborted.reject(signal.reason));
  return await Promise.race([work, aborted.promise]);
}

/** Returns a signal that aborts with the first of the two. */
export const firstOf = (signal: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other ? AbortSignal.any([signal, other]) : signal;

/** Whether an abort reason comes from `AbortSignal.timeout`. */
export const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';
