// The metrics of the service: calls, speech, HTTP requests, engines, jobs and webhooks, stored audio, and the
// process. Metrics that OpenTelemetry's semantic conventions define use the names, labels and units of the conventions.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { EndedCall } from '../api/call.ts';
import type { RoomState } from '../delivery/clip-room.ts';
import type { Engine, EngineServer, ServerTools } from '../engines/engine.ts';
import type { EngineGuards, EngineWatch } from '../engines/guard.ts';
import type { EndedRequest } from '../http/ended-request.ts';
import type { Schedule } from '../speech/schedule.ts';
import { type WebhookOutcome, webhookOutcomes } from '../store/webhook-rows.ts';
import { createMetrics, type Metrics } from '../telemetry/prometheus.ts';

const states = ['closed', 'half_open', 'open'] as const;

interface SpeechParts {
  engines: readonly Engine[];
  guards: EngineGuards;
  schedule: Schedule;
}

export type ServiceMetrics = ReturnType<typeof createServiceMetrics>;

export function createServiceMetrics() {
  const metrics = createMetrics();
  const calls = metrics.counter('sonant_calls_total', 'Finished calls, by method, API ("api") and status.');
  const callSeconds = metrics.distribution('sonant_call_seconds', 'Duration of calls.');
  const observeRpc = createRpcMetrics(metrics);
  const observeHttp = createHttpMetrics(metrics);
  const speech = createSpeechMetrics(metrics);
  const slotWait = metrics.distribution('sonant_wait_seconds', 'Time that requests waited to be admitted.');
  const requests = metrics.counter('sonant_http_requests_total', 'Finished HTTP requests, by route and status.');
  const closeProcess = watchProcess(metrics);
  return {
    ...createJobMetrics(metrics),
    engineWatch: createEngineWatch(metrics),
    watchServers: createServerWatch(metrics),
    onAdmit: (kind: 'interactive' | 'bulk', waitedMs: number): void => slotWait({ class: kind }, waitedMs / 1000),
    onCallEnd(call: EndedCall): void {
      const { method, api, status, durationMs } = call;
      calls({ method, api, status });
      callSeconds({ method }, durationMs / 1000);
      observeRpc(call);
      speech(call);
    },
    onRequestEnd(request: EndedRequest): void {
      const { method, route, status } = request;
      requests({ method, route, status: String(status) });
      observeHttp(request);
    },
    watchSpeech({ engines, guards, schedule }: SpeechParts): void {
      watchSchedule(metrics, schedule);
      metrics.gauge('sonant_engine_state', '1 for the worst state of the circuit breakers of an engine.', () =>
        engines.flatMap((engine) =>
          states.map((state) => [{ engine: engine.name, state }, Number(guards(engine).state === state)] as const),
        ),
      );
      const waitingFor = (engine: Engine) =>
        schedule.state.engines.find(({ name }) => name === engine.name)?.waiting ?? 0;
      metrics.gauge('sonant_engine_waiting', 'Requests and segments waiting for a slot of an engine.', () =>
        engines.map((engine) => [{ engine: engine.name }, waitingFor(engine)] as const),
      );
      const serverGauge = (name: string, help: string, read: (server: EngineServer) => number) =>
        metrics.gauge(name, help, () =>
          engines.flatMap(({ name: engine, servers = [] }) =>
            servers.map((server) => [{ engine, server: server.name }, read(server)] as const),
          ),
        );
      const outstandingHelp = 'Requests of this process under way at a server of an engine.';
      serverGauge('sonant_engine_server_outstanding', outstandingHelp, ({ outstanding }) => outstanding);
      const waitingHelp = 'Requests of this process under way at a server of an engine, without any sound yet.';
      serverGauge('sonant_engine_server_waiting', waitingHelp, ({ waiting }) => waiting);
      const limitHelp = 'Requests that a server of an engine gets at once, from all replicas; 0 while it gets none.';
      serverGauge('sonant_engine_server_limit', limitHelp, ({ limit }) => limit);
    },
    watchRoom: (state: () => RoomState): void => watchRoom(metrics, state),
    watchLedger(ledger: { readonly pendingRows: number }): void {
      const help = 'Usage records in memory that are not yet in the database.';
      metrics.gauge('sonant_usage_pending_rows', help, () => [[{}, ledger.pendingRows]]);
    },
    watchSpans: (dropped: () => number): void =>
      metrics.total('sonant_spans_dropped_total', 'Spans that were not sent to the collector.', dropped),
    families: metrics.families,
    text: metrics.text,
    close: closeProcess,
  };
}

function createEngineWatch(metrics: Metrics): EngineWatch {
  const segments = metrics.counter('sonant_engine_segments_total', 'Segments sent to an engine, by outcome.');
  const wait = metrics.distribution('sonant_engine_wait_seconds', 'Time that segments waited for an engine.');
  const firstSoundHelp = 'Time to the first audio of a segment.';
  const firstSound = metrics.distribution('sonant_engine_first_sound_seconds', firstSoundHelp);
  const retries = metrics.counter('sonant_engine_retries_total', 'Segments retried before their first audio.');
  const soundHelp = 'Audio generated by engines for complete segments, in seconds, by model.';
  const sound = metrics.counter('sonant_engine_sound_seconds_total', soundHelp);
  const work = metrics.counter('sonant_engine_work_seconds_total', 'Seconds that engines took to generate that audio.');
  return {
    onTurn: (engine, isFirst, waitedMs) => wait({ engine, segment: isFirst ? 'first' : 'later' }, waitedMs / 1000),
    onSegment(engine, { model, outcome, firstSoundMs, pace }) {
      segments({ engine, outcome });
      if (firstSoundMs !== undefined) firstSound({ engine }, firstSoundMs / 1000);
      if (!pace) return;
      sound({ engine, model }, pace.soundSeconds);
      work({ engine, model }, pace.workSeconds);
    },
    onRetry: (engine) => retries({ engine }),
  };
}

/** Metrics for the streams from engine servers. The time series of a removed server are deleted. */
function createServerWatch(metrics: Metrics) {
  const firstSoundHelp = 'Time to the first sound of a request at a server of an engine.';
  const firstSound = metrics.distribution('sonant_engine_server_first_sound_seconds', firstSoundHelp);
  const underrunHelp = 'Sum of the gaps that a listener would hear in a stream of a server of an engine.';
  const underrun = metrics.distribution('sonant_engine_underrun_seconds', underrunHelp);
  return (engine: string): ServerTools => ({
    onStream(server, { firstSoundMs, underrunSeconds }) {
      if (firstSoundMs === undefined) return;
      firstSound({ engine, server }, firstSoundMs / 1000);
      underrun({ engine, server }, underrunSeconds);
    },
    onServerGone(server) {
      for (const observe of [firstSound, underrun]) observe.forget({ engine, server });
    },
  });
}

/** Metrics for RPCs, which OpenTelemetry's semantic conventions count separately from HTTP requests. */
function createRpcMetrics(metrics: Metrics) {
  const observe = metrics.distribution('rpc_server_call_duration_seconds', 'Duration of RPCs.', {
    otelName: 'rpc.server.call.duration',
  });
  const systems: Readonly<Record<string, string>> = { grpc: 'grpc', 'grpc-web': 'grpc', connect: 'connectrpc' };
  return ({ method, api, status, durationMs }: EndedCall): void => {
    const system = systems[api];
    if (system === undefined) return;
    const labels = { 'rpc.system.name': system, 'rpc.method': method, 'rpc.response.status_code': status };
    observe(labels, durationMs / 1000);
  };
}

function createHttpMetrics(metrics: Metrics) {
  const observe = metrics.distribution('http_server_request_duration_seconds', 'Duration of HTTP requests.', {
    otelName: 'http.server.request.duration',
  });
  return ({ method, route, status, durationMs }: EndedRequest): void => {
    const labels = { 'http.request.method': method, 'http.route': route, 'http.response.status_code': String(status) };
    observe(labels, durationMs / 1000);
  };
}

/** Maximum number of voices with their own label. Further voices share one label, because their number is unlimited. */
const labelledVoicesMax = 100;

/** Speech metrics, by voice and engine. */
function createSpeechMetrics(metrics: Metrics) {
  const firstSound = metrics.distribution(
    'sonant_first_sound_seconds',
    'Time from the start of a call to its first audio.',
  );
  const characters = metrics.counter('sonant_characters_total', 'Characters spoken.');
  const seconds = metrics.counter('sonant_audio_seconds_total', 'Audio delivered, in seconds.');
  const cache = metrics.counter('sonant_cache_total', 'Complete texts, by cache hit or miss.');
  const voices = new Set<string>();
  return ({ speech }: EndedCall): void => {
    const { voiceId, engine, firstSoundMs, audioSeconds, isCached } = speech;
    if (voiceId === undefined || engine === undefined) return;
    if (voices.size < labelledVoicesMax) voices.add(voiceId);
    const labels = { voice: voices.has(voiceId) ? voiceId : 'other', engine };
    if (firstSoundMs !== undefined) firstSound(labels, firstSoundMs / 1000);
    if (isCached !== undefined) cache({ result: isCached ? 'hit' : 'miss' });
    if (audioSeconds === undefined) return;
    characters(labels, speech.characters);
    seconds(labels, audioSeconds);
  };
}

function watchSchedule(metrics: Metrics, schedule: Schedule): void {
  metrics.gauge('sonant_speaking', 'Requests that are being spoken.', () => [[{}, schedule.state.speaking]]);
  metrics.gauge('sonant_waiting', 'Requests that wait to be admitted.', () =>
    (['interactive', 'bulk'] as const).map((kind) => [{ class: kind }, schedule.state.waiting[kind]] as const),
  );
}

function watchRoom(metrics: Metrics, state: () => RoomState): void {
  const gauge = (name: string, help: string, read: (state: RoomState) => number | undefined) =>
    metrics.gauge(name, help, () => {
      const value = read(state());
      return value === undefined ? [] : [[{}, value] as const];
    });
  gauge('sonant_audio_stored_bytes', 'Stored audio.', ({ storedBytes }) => storedBytes);
  gauge('sonant_audio_quota_bytes', 'Quota of all stored audio; absent if there is none.', ({ bytesMax }) => bytesMax);
  gauge(
    'sonant_audio_key_quota_bytes',
    'Quota of an account: a key and the keys derived from it.',
    (each) => each.accountBytesMax,
  );
  gauge('sonant_audio_free_bytes', 'Bytes that can be stored without removing audio.', ({ freeBytes }) => freeBytes);
  metrics.total('sonant_audio_removed_total', 'Clips removed before they expired.', () => state().removedClips);
}

const jobStatuses = ['succeeded', 'failed', 'canceled'];

/** Counters begin at 0 for every outcome, so that the first event shows as an increase. */
function createJobMetrics(metrics: Metrics) {
  const jobs = metrics.counter('sonant_jobs_total', 'Ended jobs, by status.');
  const webhooks = metrics.counter('sonant_webhooks_total', 'Ended webhook messages, by outcome.');
  const countWebhook = (outcome: WebhookOutcome, by: number) => webhooks({ outcome: outcome.replace(' ', '_') }, by);
  for (const status of jobStatuses) jobs({ status }, 0);
  for (const outcome of webhookOutcomes) countWebhook(outcome, 0);
  return {
    onJobEnd: (status: string): void => jobs({ status }),
    onWebhookEnd: (outcome: WebhookOutcome): void => countWebhook(outcome, 1),
    watchJobs: (countChapters: () => number): void =>
      metrics.gauge('sonant_job_chapters', 'Chapters of jobs being spoken.', () => [[{}, countChapters()]]),
  };
}

const delayQuantiles = [0.5, 0.99, 1];
/** Measuring at this interval costs an idle process 0.6 ms of CPU time per second; 20 ms would cost 2 to 3 ms. */
const delayResolutionMs = 100;

/** Measures the memory, CPU time and event loop delay of the process. Returns a function that stops measuring. */
function watchProcess(metrics: Metrics): () => void {
  metrics.gauge('sonant_process_resident_bytes', 'Resident memory of the process.', () => [
    [{}, process.memoryUsage.rss()],
  ]);
  const held = 'Memory of the main thread: the heap, garbage included, and memory that heap objects use outside of it.';
  metrics.gauge('sonant_process_memory_bytes', held, () => {
    const { heapUsed, external } = process.memoryUsage();
    return [
      [{ kind: 'heap' }, heapUsed],
      [{ kind: 'external' }, external],
    ];
  });
  metrics.total('sonant_process_cpu_seconds_total', 'CPU time of the process, user and system.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  delay.enable();
  const help = 'Delay of the event loop since the metrics were last read.';
  metrics.gauge('sonant_event_loop_delay_seconds', help, () => {
    const late = delayQuantiles.map((share) => {
      const nanos = delay.count === 0 ? 0 : delay.percentile(share * 100);
      return [{ quantile: String(share) }, Math.max(0, nanos / 1e9 - delayResolutionMs / 1000)] as const;
    });
    delay.reset();
    return late;
  });
  return () => void delay.disable();
}
