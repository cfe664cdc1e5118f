// One call of an operation: who calls, from where, and until when.
import { type Actor, toActor } from '../access/actor.ts';
import { usualLimits as usualKeyLimits } from '../access/key-limits.ts';
import type { KeyCaller } from '../access/key-verifier.ts';
import type { LimitStatus } from '../access/rate-limit.ts';
import type { Failure } from '../errors.ts';

export interface Call {
  caller: KeyCaller;
  requestId: string;
  /** An IP address. */
  address: string;
  /** Aborts with a Failure, or with `callerLeft`. */
  signal: AbortSignal;
  /** Aborts with a Failure when the service begins to stop: what can end soon should, and what is begun may finish. */
  leaving: AbortSignal;
  /** When it began, on the clock of `performance.now`. */
  begunMs: number;
  /** Reports the state of the caller's limits, for the headers of the answer. */
  reportLimits(status: LimitStatus): void;
  /** Reports what it speaks, for the log, the metrics and the trace; later facts add to earlier ones. */
  reportSpeech(facts: SpeechFacts): void;
}

/** What is known of the speech of a call; never its text. */
export interface SpeechFacts {
  voiceId?: string;
  engine?: string;
  format?: string;
  characters?: number;
  /** Whether it came out of the cache. */
  isCached?: boolean;
  audioSeconds?: number;
  /** From the beginning of the call to its first sound. */
  firstSoundMs?: number;
}

/** The caller of an operation that is open to all. */
export const anonymous: KeyCaller = {
  callerId: '',
  keyId: '',
  accountId: '',
  actorName: 'anonymous',
  scopes: [],
  limits: usualKeyLimits,
  grant: { range: { path: '' }, scopes: [] },
};

/** Why a call ends whose caller has gone. It is not a failure. */
export const callerLeft = new Error('the caller has left');

/** Who changes something with this call, for the audit record. */
export const actorOf = (call: Call): Actor => toActor(call.caller, call);

/** What is reported of a call when it has ended. */
export interface EndedCall {
  requestId: string;
  /** The name of the operation. */
  method: string;
  /** The API or protocol, such as "grpc", "connect", "rest", "sse". */
  door: string;
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
