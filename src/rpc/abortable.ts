// Connect only signals that a call is over. This ends it: when the signal aborts, the call and each message still
// awaited fail at once with the signal's reason, whether or not the code that is called looks at its signal, and a
// stream that nobody reads any more is told to return, so that its `finally` runs.
import type { Interceptor } from '@connectrpc/connect';

export const abortable: Interceptor = (next) => async (request) => {
  const { signal } = request;
  signal.throwIfAborted();
  const response = await orAbort(next(request), signal);
  return response.stream ? { ...response, message: abortableMessages(response.message, signal) } : response;
};

function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(signal.reason);
    signal.addEventListener('abort', refuse, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', refuse));
  });
}

function abortableMessages<T>(messages: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const source = messages[Symbol.asyncIterator]();
  let refuse: ((reason: unknown) => void) | undefined;

  const leave = () => {
    signal.removeEventListener('abort', abort);
    return source.return?.();
  };
  const abort = () => {
    refuse?.(signal.reason);
    leave()?.catch(() => {});
  };
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();

  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      refuse = reject;
      source.next().then((result) => {
        if (result.done) signal.removeEventListener('abort', abort);
        resolve(result);
      }, reject);
    });
  // Not awaited: code that does not look at its signal would keep the caller waiting.
  const end = async () => {
    leave()?.catch(() => {});
    return { done: true as const, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}
