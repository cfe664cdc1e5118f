// What is reported of a call when it has ended.
import type { Failure } from '../errors.ts';
import type { SpeechFacts } from './call.ts';

export interface EndedCall {
  requestId: string;
  /** The name of the operation. */
  method: string;
  /** The API or protocol, such as "grpc", "connect", "rest", "sse". */
  api: string;
  callerId: string | undefined;
  keyId: string | undefined;
  /** The id of its trace, where there is one. */
  traceId: string | undefined;
  /** What it spoke; empty where it is no speech. */
  speech: SpeechFacts;
  /** The name of the gRPC status: "OK", "CANCELLED" where the caller left, or that of the failure. */
  status: string;
  /** Its cause is for the log only. */
  failure: Failure | undefined;
  durationMs: number;
  messageCount: number;
}
