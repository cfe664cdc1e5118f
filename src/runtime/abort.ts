// Listening to an AbortSignal without leaving a listener behind.

/** Calls `run` when the signal aborts, at once if it has already, until the result is disposed. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): Disposable {
  if (signal?.aborted) run();
  else signal?.addEventListener('abort', run, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', run) };
}
