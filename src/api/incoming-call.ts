// What a call begins with: what its API knows when its headers have come, and what all calls of a runner share.
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

/** What is known of a call when its headers have come. */
export interface Incoming {
  api: string;
  requestId: string;
  address: string;
  /** Stands for the connection that it came on, where that is known. */
  connection?: object | undefined;
  deadlineMs?: KeyCaller['deadlineMs'];
  /** Reads the trace that the caller has begun; called where calls are traced. */
  readTrace?: (() => TraceHeaders) | undefined;
  reportLimits(status: LimitStatus): void;
  /** For an API whose library has errors of its own: how they are read, and how a failure is thrown to it. */
  errors?: { read(error: unknown): unknown; write(failure: Failure | typeof callerLeft): unknown };
}

/** What all calls of a runner share. */
export interface Shared {
  admit: Admit;
  onCallEnd(call: EndedCall): void;
  /** Undefined where calls are not traced. */
  tracing: Tracing | undefined;
  timeLimits: TimeLimits;
  openCalls: OpenCalls;
  keyWatch: KeyWatch;
  deadlines: Deadlines;
  running: Set<{ abort(reason: unknown): void }>;
  leaving: AbortController;
  stopped: AbortController;
}
