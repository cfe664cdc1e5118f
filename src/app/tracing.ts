// Sends traces and metrics to a collector. Wraps the engines, the clip store, the database and shared synthesis, so
// that each wait during a call is a span in the call's trace. Without a collector, nothing is wrapped.
import { hostname } from 'node:os';
import type { ClipStore, SingleFlight } from '../clips.ts';
import type { Engine } from '../engines.ts';
import { createId } from '../platform/runtime/id.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import type { Log } from '../platform/telemetry/log.ts';
import { type OtlpTarget, openOtlpExport } from '../platform/telemetry/otlp-export.ts';
import type { Metrics } from '../platform/telemetry/prometheus.ts';
import { activeSpan, createTracing, faultOf, measured, type Tracing, within } from '../platform/telemetry/trace.ts';
import { apiVersion } from '../transports.ts';
import type { Config } from './config.ts';
import { parsePairs } from './otel-settings.ts';

/** Opens tracing. Returns undefined if no traces are exported. */
export function openTracing(
  config: Config,
  metrics: Metrics,
  log: Log,
  opened: AsyncDisposableStack,
): Tracing | undefined {
  const { rest } = config.otel;
  const targets = { traces: targetOf(config, 'traces'), metrics: targetOf(config, 'metrics') };
  if (!targets.traces && !targets.metrics) return undefined;
  const resource = {
    'service.name': 'sonant',
    'service.version': apiVersion,
    'service.instance.id': createId('instance'),
    'host.name': hostname(),
    'process.pid': process.pid,
    ...parsePairs(rest.attributes),
    ...(rest.serviceName && { 'service.name': rest.serviceName }),
  };
  const otlp = openOtlpExport({
    ...rest,
    ...targets,
    resource,
    readMetrics: metrics.families,
    onFault: (fault) => log.warn('traces and metrics are not sent', { fault }),
  });
  opened.defer(() => otlp.close());
  metrics.total('sonant_spans_dropped_total', 'Spans that were not sent to the collector.', () => otlp.dropped);
  const { sampler, sampleShare } = rest;
  const share = sampler.endsWith('always_on') ? 1 : sampler.endsWith('always_off') ? 0 : sampleShare;
  return targets.traces && createTracing({ share, isParentBased: sampler.startsWith('parentbased') }, otlp.add);
}

/** Returns a signal's export target, or undefined. The signal's own variables override the variables for both. */
function targetOf({ otel: { both, rest, ...signals } }: Config, signal: 'traces' | 'metrics'): OtlpTarget | undefined {
  const own = signals[signal];
  const url = own.endpoint || (both.endpoint && `${both.endpoint.replace(/\/$/, '')}/v1/${signal}`);
  if (rest.isDisabled || rest[`${signal}Exporter`] === 'none' || url === '') return undefined;
  return {
    url,
    headers: parsePairs(own.headers || both.headers) ?? {},
    compression: own.compression || both.compression || 'none',
    timeoutMs: own.timeoutMs || both.timeoutMs || 10_000,
  };
}

/** Wraps an engine so that each segment is a span that lasts until its last audio. */
export function traceEngine(engine: Engine): Engine {
  const speak: Engine['speak'] = (segment, signal) => {
    const span = activeSpan()?.child({
      name: `speak ${engine.name}`,
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.output.type': 'speech',
        'gen_ai.provider.name': engine.name,
        'sonant.voice_id': segment.voice.voiceId,
        'sonant.characters': segment.text.length,
        'sonant.urgent': segment.urgent,
      },
    });
    if (!span) return engine.speak(segment, signal);
    return (async function* () {
      const pieces = within(span, () => engine.speak(segment, signal))[Symbol.asyncIterator]();
      const beganMs = performance.now();
      let hasSound = false;
      try {
        for (;;) {
          const { done, value } = await within(span, () => pieces.next());
          if (done) return;
          if (!hasSound) span.set({ 'sonant.first_sound_seconds': (performance.now() - beganMs) / 1000 });
          hasSound = true;
          yield value;
        }
      } catch (error) {
        span.end(signal.aborted ? undefined : faultOf(error));
        throw error;
      } finally {
        await pieces.return?.();
        span.end();
      }
    })();
  };
  // The other members of an engine may change, so they are read from the engine itself.
  return Object.create(engine, { speak: { value: speak } }) as Engine;
}

/** Wraps a clip store so that its calls are spans. */
export function traceClips(clips: ClipStore, system: string): ClipStore {
  const span = (operation: string, key?: string) => ({
    name: `${system} ${operation}`,
    kind: 'client' as const,
    attributes: { 'rpc.system.name': system, 'sonant.clip_id': key },
  });
  return {
    create: (key, contentType) =>
      measured(span('create', key), async () => {
        const draft = await clips.create(key, contentType);
        const commit = (head?: Uint8Array) => measured(span('commit', key), () => draft.commit(head));
        return { write: (bytes) => draft.write(bytes), commit, discard: () => draft.discard() };
      }),
    open: (key, range) => measured(span('open', key), () => clips.open(key, range)),
    remove: (key) => measured(span('remove', key), () => clips.remove(key)),
    sweep: (isKnown) => clips.sweep(isKnown),
    disk: () => clips.disk(),
    close: () => clips.close(),
  };
}

/** Wraps a row store so that its statements and transactions are spans. */
export function traceStore(store: RowStore, system: string): RowStore {
  const span = (name: string, statement?: string) => ({
    name: `${system} ${name}`,
    kind: 'client' as const,
    // Statements pass values as parameters, so the text of a statement contains no values.
    attributes: { 'db.system.name': system, 'db.query.text': statement },
  });
  return {
    query: (sql, ...values) =>
      measured(span(sql.trimStart().split(/\s/, 1)[0]!, sql), () => store.query(sql, ...values)),
    transaction: (work, options) => measured(span('transaction'), () => store.transaction(work, options)),
    now: () => store.now(),
    listen: (topic, onChange) => store.listen(topic, onChange),
    close: () => store.close(),
  };
}

/** Traces calls that wait for another call with the same speech, on this or another replica. */
export const traceFlights = (flights: SingleFlight): SingleFlight => ({
  run: (key, signal, work) =>
    measured({ name: 'make or join the speech', kind: 'internal' }, async (span) => {
      const result = await flights.run(key, signal, work);
      span?.set({ 'sonant.joined': !result.isMade });
      return result;
    }),
});
