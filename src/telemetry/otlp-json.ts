// Spans and metrics as messages of the OpenTelemetry Protocol in JSON (https://opentelemetry.io/docs/specs/otlp/): 64-bit
// integers are strings, ids are in hexadecimal. In JSON:
//     {"resourceSpans": [{"resource": {"attributes": [...]}, "scopeSpans": [{"scope": {"name": "sonant"}, "spans": [...]}]}]}
//     {"resourceMetrics": [{"resource": ..., "scopeMetrics": [{"scope": ..., "metrics": [{"name": ..., "sum": ...}]}]}]}
import type { MetricFamily } from './metrics.ts';
import type { Attributes, EndedSpan, SpanKind } from './trace.ts';

const scope = { name: 'sonant' };
const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };
const statusError = 2;
/** Sums count from the start of the process. */
const cumulative = 2;

export const toTraces = (resource: Attributes, spans: readonly EndedSpan[]) => ({
  resourceSpans: [
    { resource: { attributes: toAttributes(resource) }, scopeSpans: [{ scope, spans: spans.map(toSpan) }] },
  ],
});

function toSpan({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, fault }: EndedSpan) {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: toNanos(startMs),
    endTimeUnixNano: toNanos(endMs),
    attributes: toAttributes(attributes),
    status: fault === undefined ? {} : { code: statusError, message: fault },
  };
}

export const toMetrics = (resource: Attributes, families: readonly MetricFamily[], startMs: number, nowMs: number) => ({
  resourceMetrics: [
    {
      resource: { attributes: toAttributes(resource) },
      scopeMetrics: [{ scope, metrics: families.map((family) => toMetric(family, startMs, nowMs)) }],
    },
  ],
});

function toMetric(
  { name, otelName = name, help: description, unit = '', ...family }: MetricFamily,
  startMs: number,
  nowMs: number,
) {
  const times = { startTimeUnixNano: toNanos(startMs), timeUnixNano: toNanos(nowMs) };
  const named = { name: otelName, description, unit };
  if (family.type === 'histogram') {
    const dataPoints = family.points.map(({ labels, counts, sum }) => ({
      attributes: toAttributes(labels),
      ...times,
      count: String(counts.reduce((all, count) => all + count, 0)),
      sum,
      bucketCounts: counts.map(String),
      explicitBounds: family.bounds,
    }));
    return { ...named, histogram: { aggregationTemporality: cumulative, dataPoints } };
  }
  const dataPoints = family.points.map(([labels, asDouble]) => ({
    attributes: toAttributes(labels),
    ...times,
    asDouble,
  }));
  if (family.type === 'gauge') return { ...named, gauge: { dataPoints } };
  return { ...named, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } };
}

/** Attributes without a value are left out. */
const toAttributes = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : { key, value: toValue(value) }));

const toValue = (value: string | number | boolean) => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
};

const toNanos = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n);
