// Runs every operation, whichever API a call comes through: admits the caller, checks scopes, applies time limits, and
// reports the end of each call exactly once. A call ends when its key is revoked, its client disconnects or the service
// stops, even if the operation ignores its signal.
import type { Accounts } from '../accounts.ts';
import { Failure } from '../platform/errors.ts';
import { readerStallMs } from '../platform/net/request-limits.ts';
import { createMetrics, createVoiceLabels, type Metrics } from '../platform/telemetry/prometheus.ts';
import type { Tracing } from '../platform/telemetry/trace.ts';
import type { EndedCall } from './call.ts';
import { openCallLimits, streamCallMs, unaryCallMs } from './call-limits.ts';
import { type IsInForce, openKeyWatch } from './key-watch.ts';
import { type OpenCallLimits, OpenCalls } from './open-calls.ts';
import { type Incoming, RunningCall, type Shared, type TimeLimits } from './running-call.ts';

export interface RunnerOptions {
  admit: Accounts['admit'];
  isInForce: IsInForce;
  /** Called once for every call. Must not throw. */
  onCallEnd(call: EndedCall): void;
  metrics?: Metrics;
  /** Traces calls; undefined if calls are not traced. */
  tracing?: Tracing | undefined;
  timeLimits?: TimeLimits | undefined;
  /** Limits on calls that need no key. */
  openLimits?: OpenCallLimits | undefined;
}

export type Runner = ReturnType<typeof createRunner>;

export function createRunner(options: RunnerOptions) {
  const { admit, isInForce, metrics = createMetrics(), tracing } = options;
  const { timeLimits = usualLimits, openLimits = openCallLimits } = options;
  const count = createCallMetrics(metrics);
  const onCallEnd = (call: EndedCall) => {
    count(call);
    options.onCallEnd(call);
  };
  const keyWatch = openKeyWatch(isInForce);
  const running: Shared['running'] = new Set();
  const leaving = new AbortController();
  const stopped = new AbortController();
  const openCalls = new OpenCalls(openLimits);
  const limits = { timeLimits, openLimits, openCalls, keyWatch };
  const shared: Shared = { admit, onCallEnd, tracing, ...limits, running, leaving, stopped };
  return {
    begin: (incoming: Incoming) => new RunningCall(incoming, shared),
    /** Whether keyless calls from this address are dropped unanswered. */
    isBarred: (address: string) => openCalls.isBarred(address),
    /** Checks the keys of running calls now, because keys may have been revoked. */
    checkKeys: keyWatch.check,
    /** Announces to running calls that the service is about to stop. */
    leave: () => leaving.abort(stopping()),
    /** Aborts with a Failure when `leave` is called. */
    leaving: leaving.signal,
    /** Whether no call is running. */
    isIdle: () => running.size === 0,
    /** Ends every running call with `overloaded`. */
    stop(): void {
      keyWatch.close();
      stopped.abort(stopping());
      for (const call of [...running]) call.abort(stopped.signal.reason);
    },
  };
}

const stopping = () =>
  new Failure('overloaded', { message: 'The service is stopping. Try again later.', retryAfterSeconds: 1 });

const usualLimits: TimeLimits = { unaryCallMs, streamCallMs, readerStallMs };

const rpcSystems: Readonly<Record<string, string>> = { grpc: 'grpc', 'grpc-web': 'grpc', connect: 'connectrpc' };

/**
 * Returns a function that counts a call. Metrics that OpenTelemetry's semantic conventions define use the names, labels
 * and units of the conventions, which count RPCs separately from HTTP requests.
 */
export function createCallMetrics(metrics: Metrics): (call: EndedCall) => void {
  const calls = metrics.counter('sonant_calls_total', 'Finished calls, by method, API ("api") and status.');
  const callSeconds = metrics.distribution('sonant_call_seconds', 'Duration of calls.');
  const rpcSeconds = metrics.distribution('rpc_server_call_duration_seconds', 'Duration of RPCs.', {
    otelName: 'rpc.server.call.duration',
  });
  const firstSoundHelp = 'Time from the start of a call to its first audio.';
  const firstSound = metrics.distribution('sonant_first_sound_seconds', firstSoundHelp);
  const characters = metrics.counter('sonant_characters_total', 'Characters spoken.');
  const audioSeconds = metrics.counter('sonant_audio_seconds_total', 'Audio delivered, in seconds.');
  const cache = metrics.counter('sonant_cache_total', 'Complete texts, by cache hit or miss.');
  const labelOf = createVoiceLabels();
  return ({ method, api, status, durationMs, speech }) => {
    calls({ method, api, status });
    callSeconds({ method }, durationMs / 1000);
    const system = rpcSystems[api];
    if (system !== undefined) {
      const labels = { 'rpc.system.name': system, 'rpc.method': method, 'rpc.response.status_code': status };
      rpcSeconds(labels, durationMs / 1000);
    }
    const { voiceId, engine, isCached } = speech;
    if (voiceId === undefined || engine === undefined) return;
    const labels = { voice: labelOf(voiceId), engine };
    if (speech.firstSoundMs !== undefined) firstSound(labels, speech.firstSoundMs / 1000);
    if (isCached !== undefined) cache({ result: isCached ? 'hit' : 'miss' });
    if (speech.audioSeconds === undefined) return;
    characters(labels, speech.characters);
    audioSeconds(labels, speech.audioSeconds);
  };
}
