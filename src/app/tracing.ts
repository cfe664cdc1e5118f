// Sends traces and metrics to a collector, and wraps the database, so that each wait for it is a span in the trace of a
// call. The other rooms wrap their own waits. Without a collector, nothing is wrapped.
import { hostname } from 'node:os';
import { createId } from '../platform/runtime/id.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import type { Log } from '../platform/telemetry/log.ts';
import { type OtlpTarget, openOtlpExport } from '../platform/telemetry/otlp-export.ts';
import type { Metrics } from '../platform/telemetry/prometheus.ts';
import { createTracing, measured, type Tracing } from '../platform/telemetry/trace.ts';
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
