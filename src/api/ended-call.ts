// The report of a call that has ended.
import type { Failure } from '../errors.ts';
import type { SpeechFacts } from './call.ts';

export interface EndedCall {
  requestId: string;
  /** The name of the operation. */
  method: string;
  /** The API or protocol, such as "grpc", "connect", "rest" or "sse". */
  api: string;
  callerId: string | undefined;
  keyId: string | undefined;
  /** The id of the call's trace, if it has one. */
  traceId: string | undefined;
  /** Facts of the speech; empty if the operation is not speech. */
  speech: SpeechFacts;
  /** Name of the gRPC status: "OK", "CANCELLED" if the client disconnected, or the status of the failure. */
  status: string;
  /** The failure, if any. Its cause is only for the log. */
  failure: Failure | undefined;
  durationMs: number;
  messageCount: number;
}
