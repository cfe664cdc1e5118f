// One call of an operation: its caller, the caller's address, and the signals that end the call.
import { type Actor, type KeyCaller, keyDefaults, type LimitStatus } from '../accounts.ts';
import type { Failure } from '../platform/errors.ts';
import type { Pace } from '../platform/pace.ts';

export interface Call {
  caller: KeyCaller;
  requestId: string;
  /** IP address of the caller. */
  address: string;
  /** Aborts when the call must end. The reason is a Failure or `callerLeft`. */
  signal: AbortSignal;
  /** The pace of the reader of a stream. Default: the reader is never slow. */
  pace?: Pace | undefined;
  /** Aborts with a Failure when the service begins to stop. Long streams should end soon; short work may finish. */
  leaving: AbortSignal;
  /** Start of the call, on the clock of `performance.now`. */
  begunMs: number;
  /** Reports the caller's limits, for the headers of the response. */
  reportLimits(status: LimitStatus): void;
  /** Reports properties of the speech for the log, metrics and trace. Later properties are added to earlier ones. */
  reportSpeech(facts: SpeechFacts): void;
}

/** Properties of the speech that a call produces; the text is not included. */
export interface SpeechFacts {
  voiceId?: string;
  engine?: string;
  format?: string;
  characters?: number;
  /** Whether the audio came from the cache. */
  isCached?: boolean;
  audioSeconds?: number;
  /** Time from the start of the call to its first generated audio; undefined if the audio came from the cache. */
  firstSoundMs?: number;
}

/** The caller of an operation that needs no key. */
export const anonymous: KeyCaller = {
  callerId: '',
  keyId: '',
  accountId: '',
  actorName: 'anonymous',
  scopes: [],
  limits: keyDefaults.limits,
  grant: { range: { path: '' }, scopes: [] },
};

/** The abort reason of a call whose client has disconnected. It is not a failure. */
export const callerLeft = new Error('the caller has left');

/** The actor of this call, for audit records. */
export function actorOf({ caller, address, requestId }: Call): Actor {
  const { actorName: name, accountId, grant, voiceIds, usesAllVoices } = caller;
  return { name, address, requestId, accountId, grant, voiceIds, usesAllVoices };
}

/** The report of a call that has ended. */
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
  /** Properties of the speech; empty if the operation does not produce speech. */
  speech: SpeechFacts;
  /** Name of the gRPC status: "OK", "CANCELLED" if the client disconnected, or the status of the failure. */
  status: string;
  /** The failure, if any. Its cause is only for the log. */
  failure: Failure | undefined;
  durationMs: number;
  messageCount: number;
}
