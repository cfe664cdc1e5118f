// The one way into every operation, whichever API a call comes through: admits the caller, checks its scopes, gives the
// call its time limits, ends it when its key is revoked, its caller leaves or the service stops, and reports its end
// exactly once, for the log and the metrics. A call ends at once when its signal aborts, whether or not the operation
// watches the signal.
import type { Admit } from '../access/admit.ts';
import { Failure } from '../errors.ts';
import { readerStallMs } from '../net/request-limits.ts';
import type { Tracing } from '../telemetry/trace.ts';
import type { EndedCall } from './call.ts';
import { openCallLimits, streamCallMs, unaryCallMs } from './call-limits.ts';
import { createDeadlines } from './deadlines.ts';
import { type IsInForce, openKeyWatch } from './key-watch.ts';
import { type OpenCallLimits, OpenCalls } from './open-calls.ts';
import { type Incoming, RunningCall, type Shared, type TimeLimits } from './running-call.ts';

interface RunnerOptions {
  admit: Admit;
  isInForce: IsInForce;
  /** Called once for every call. Must not throw. */
  onCallEnd(call: EndedCall): void;
  /** Default: calls are not traced. */
  tracing?: Tracing | undefined;
  timeLimits?: TimeLimits | undefined;
  /** Of calls that need no key. */
  openLimits?: OpenCallLimits | undefined;
}

export interface Runner {
  begin(incoming: Incoming): RunningCall;
  /** Whether calls without a key from that address are to be dropped unanswered. */
  isBarred(address: string): boolean;
  /** Keys may have ended: checks those of running calls now. */
  checkKeys(): void;
  /** Tells running calls that the service is about to stop. */
  leave(): void;
  /** Aborts with a Failure then. */
  readonly leaving: AbortSignal;
  /** Whether no call runs. */
  isIdle(): boolean;
  /** Ends every call that still runs with `overloaded`. */
  stop(): void;
}

export function createRunner(options: RunnerOptions): Runner {
  const { admit, isInForce, onCallEnd, tracing, timeLimits = usualLimits, openLimits = openCallLimits } = options;
  const keyWatch = openKeyWatch(isInForce);
  const running: Shared['running'] = new Set();
  const leaving = new AbortController();
  const stopped = new AbortController();
  const openCalls = new OpenCalls(openLimits);
  const deadlines = createDeadlines();
  const watches = { openCalls, keyWatch, deadlines };
  const shared: Shared = { admit, onCallEnd, tracing, timeLimits, ...watches, running, leaving, stopped };
  return {
    begin: (incoming) => new RunningCall(incoming, shared),
    isBarred: (address) => openCalls.isBarred(address),
    checkKeys: keyWatch.check,
    leave: () => leaving.abort(stopping()),
    leaving: leaving.signal,
    isIdle: () => running.size === 0,
    stop() {
      keyWatch.close();
      openCalls.close();
      stopped.abort(stopping());
      for (const call of [...running]) call.abort(stopped.signal.reason);
    },
  };
}

const stopping = () =>
  new Failure('overloaded', { message: 'The service is stopping. Try again later.', retryAfterSeconds: 1 });

const usualLimits: TimeLimits = { unaryCallMs, streamCallMs, readerStallMs };
