// Sends spans and metrics to a collector as JSON, through OTLP over HTTP. The service never waits for the collector.
// Spans wait in a queue, and are dropped and counted if the queue is full or sending fails for too long.
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { createPolling } from '../runtime/polling.ts';
import type { MetricFamily } from './prometheus.ts';
import type { Attributes, EndedSpan, SpanKind } from './trace.ts';

const attemptsMax = 4;
const retryMsFirst = 1000;
/** Maximum duration of the last export when the service stops. */
const closeMsMax = 3000;

/** Destination of one signal's messages, and their transport options. */
export interface OtlpTarget {
  url: string;
  headers: Readonly<Record<string, string>>;
  compression: 'none' | 'gzip';
  timeoutMs: number;
}

interface OtlpOptions {
  /** Destination of spans; undefined if spans are not sent. */
  traces: OtlpTarget | undefined;
  metrics: OtlpTarget | undefined;
  /** Attributes that identify this process. */
  resource: Attributes;
  queuedSpansMax: number;
  batchSpansMax: number;
  batchEveryMs: number;
  metricsEveryMs: number;
  readMetrics(): readonly MetricFamily[];
  /** Called with the reason if nothing can be sent; called again only after a successful message. */
  onFault(fault: Error): void;
}

export function openOtlpExport(options: OtlpOptions) {
  const { resource, queuedSpansMax, batchSpansMax, readMetrics, onFault } = options;
  const startMs = performance.timeOrigin;
  const queue: EndedSpan[] = [];
  const closing = new AbortController();
  const ended = new AbortController();
  let dropped = 0;
  let isFaulty = false;

  const post = async (target: OtlpTarget, body: Uint8Array<ArrayBuffer>): Promise<'sent' | 'refused' | 'away'> => {
    try {
      const { ok, status } = await postMessage(target, body, ended.signal);
      if (ok) isFaulty = false;
      else tell(new Error(`the OpenTelemetry collector returned status ${status} for ${target.url}`));
      return ok ? 'sent' : mayPass.has(status) ? 'away' : 'refused';
    } catch (error) {
      tell(new Error(`the OpenTelemetry collector cannot be reached at ${target.url}`, { cause: error }));
      return 'away';
    }
  };
  const tell = (fault: Error) => {
    if (!isFaulty) onFault(fault);
    isFaulty = true;
  };
  const send = async (target: OtlpTarget, toMessage: () => object): Promise<boolean> => {
    let body: Uint8Array<ArrayBuffer>;
    try {
      body = await encode(target, toMessage());
    } catch (error) {
      tell(new Error(`the message for ${target.url} cannot be encoded`, { cause: error }));
      return false;
    }
    for (let attempt = 1; ; attempt++) {
      const outcome = await post(target, body);
      if (outcome !== 'away' || attempt === attemptsMax || closing.signal.aborted) return outcome === 'sent';
      await sleep(retryMsFirst * 2 ** (attempt - 1), undefined, { signal: closing.signal }).catch(() => {});
    }
  };
  const sendSpans = (target: OtlpTarget) => async () => {
    while (queue.length > 0) {
      const batch = queue.splice(0, batchSpansMax);
      if (!(await send(target, () => toTraces(resource, batch)))) dropped += batch.length;
    }
  };
  const sendMetrics = (target: OtlpTarget) => () =>
    send(target, () => toMetrics(resource, readMetrics(), startMs, Date.now()));
  const { traces, metrics, batchEveryMs, metricsEveryMs } = options;
  const repeated = [
    ...(traces ? [createPolling(sendSpans(traces), { everyMs: batchEveryMs, onFault })] : []),
    ...(metrics ? [createPolling(sendMetrics(metrics), { everyMs: metricsEveryMs, onFault })] : []),
  ];

  return {
    add(span: EndedSpan): void {
      if (queue.length >= queuedSpansMax) dropped++;
      else queue.push(span);
    },
    /** Number of spans that were never sent. */
    get dropped(): number {
      return dropped;
    },
    /** Sends the remaining spans and metrics within `closeMsMax`. */
    async close(): Promise<void> {
      closing.abort();
      const last = Promise.all(repeated.map(({ refresh, close }) => close().then(refresh)));
      await Promise.race([last, sleep(closeMsMax, undefined, { ref: false })]);
      ended.abort();
    },
  };
}

/** Statuses after which the same message may be accepted later. */
const mayPass = new Set([429, 502, 503, 504]);

async function encode({ compression }: OtlpTarget, message: object): Promise<Uint8Array<ArrayBuffer>> {
  const encoded = Buffer.from(JSON.stringify(message));
  return compression === 'gzip' ? promisify(gzip)(encoded) : encoded;
}

async function postMessage(
  { url, headers, compression, timeoutMs }: OtlpTarget,
  body: Uint8Array<ArrayBuffer>,
  ended: AbortSignal,
) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      'Content-Type': 'application/json',
      ...(compression === 'gzip' && { 'Content-Encoding': 'gzip' }),
    },
    body,
    redirect: 'error',
    signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ended]),
  });
  await answer.body?.cancel();
  return answer;
}

const scope = { name: 'sonant' };
const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };
const statusError = 2;
/** OTLP's code for sums that start at zero when the process starts. */
const cumulative = 2;

const toTraces = (resource: Attributes, spans: readonly EndedSpan[]) => ({
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

const toMetrics = (resource: Attributes, families: readonly MetricFamily[], startMs: number, nowMs: number) => ({
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
