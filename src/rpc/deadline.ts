// Time limits of a call. The caller's own deadline is Connect's to signal; here every call gets one besides, and a stream
// whose reader takes nothing for too long is given up, so that it cannot keep a slot for ever. Either aborts the signal
// that the handler sees.
import type { DescService } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { Failure } from '../errors.ts';

export interface TimeLimits {
  unaryCallMs: number;
  streamCallMs: number;
  readerStallMs: number;
}

/** Calls of the services named as open are not limited: who watches the health of a service watches for ever. */
export function createDeadline(limits: TimeLimits, openServices: readonly DescService[]): Interceptor {
  return (next) => async (request) => {
    if (openServices.includes(request.service)) return next(request);
    const { signal, abort } = linkedTo(request.signal);
    const timeoutMs = request.stream ? limits.streamCallMs : limits.unaryCallMs;
    const tooLate = () => abort(tooLong(`The call was not done within ${seconds(timeoutMs)}.`));
    const late = setTimeout(tooLate, timeoutMs).unref();
    signal.addEventListener('abort', () => clearTimeout(late), { once: true });
    const response = await next({ ...request, signal });
    if (!response.stream) return response;
    return { ...response, message: readWithin(response.message, limits.readerStallMs, { signal, abort }) };
  };
}

interface Linked {
  signal: AbortSignal;
  abort(reason: unknown): void;
}

/** A signal that aborts with `signal`, which Connect aborts at the end of every call, or before it, by `abort`. */
function linkedTo(signal: AbortSignal): Linked {
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow, { once: true });
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}

/** One timer for the whole stream, set back at each message; it only counts while a message waits to be taken. */
async function* readWithin<T>(messages: AsyncIterable<T>, stallMs: number, call: Linked): AsyncGenerator<T> {
  let isWaiting = false;
  const giveUp = () => isWaiting && call.abort(tooLong(`Nothing of the stream was read for ${seconds(stallMs)}.`));
  const stalled = setInterval(giveUp, stallMs).unref();
  call.signal.addEventListener('abort', () => clearInterval(stalled), { once: true });
  for await (const message of messages) {
    stalled.refresh();
    isWaiting = true;
    yield message;
    isWaiting = false;
  }
}

const tooLong = (message: string) => new Failure('engine_timeout', { message });
const seconds = (ms: number) => `${ms / 1000} s`;
