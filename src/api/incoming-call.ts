// The inputs of a call: facts known when its headers have arrived, and objects shared by all calls of a runner.
import type { Admit } from '../access/admit.ts';
import type { KeyCaller } from '../access/key-verifier.ts';
import type { LimitStatus } from '../access/rate-limit.ts';
import type { Failure } from '../errors.ts';
import type { TraceHeaders, Tracing } from '../telemetry/trace.ts';
import type { callerLeft } from './call.ts';
import type { Deadlines } from './deadlines.ts';
import type { EndedCall } from './ended-call.ts';
import type { KeyWatch } from './key-watch.ts';
import type { OpenCalls } from './open-calls.ts';

export interface TimeLimits {
  unaryCallMs: number;
  streamCallMs: number;
  readerStallMs: number;
}

/** Facts known when the headers of a call have arrived. */
export interface Incoming {
  api: string;
  requestId: string;
  address: string;
  /** Identifies the connection of the call, if it is known. */
  connection?: object | undefined;
  deadlineMs?: KeyCaller['deadlineMs'];
  /** Reads the caller's trace headers. Called only if calls are traced. */
  readTrace?: (() => TraceHeaders) | undefined;
  reportLimits(status: LimitStatus): void;
  /**
   * For an API whose library has its own errors: converts thrown errors to Failures, and Failures to the library's
   * errors.
   */
  errors?: { read(error: unknown): unknown; write(failure: Failure | typeof callerLeft): unknown };
}

/** Objects shared by all calls of a runner. */
export interface Shared {
  admit: Admit;
  onCallEnd(call: EndedCall): void;
  /** Undefined if calls are not traced. */
  tracing: Tracing | undefined;
  timeLimits: TimeLimits;
  openCalls: OpenCalls;
  keyWatch: KeyWatch;
  deadlines: Deadlines;
  running: Set<{ abort(reason: unknown): void }>;
  leaving: AbortController;
  stopped: AbortController;
}
