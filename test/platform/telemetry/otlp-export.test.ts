// Tests spans and metrics at a collector: a real HTTP server that can be slow, broken or unreachable.
import { expect, test, vi } from 'vitest';
import { type OtlpTarget, openOtlpExport } from '../../../src/platform/telemetry/otlp-export.ts';
import { createMetrics } from '../../../src/platform/telemetry/prometheus.ts';
import { createTracing } from '../../../src/platform/telemetry/trace.ts';
import { openCollector } from './collector.ts';

function open(endpoint: string, readMetrics?: () => never, how: Partial<OtlpTarget> = {}, batchEveryMs = 5000) {
  const faults: Error[] = [];
  const metrics = createMetrics();
  metrics.counter('calls_total', 'Calls.')({ method: 'A' }, 2);
  metrics.distribution('took_seconds', 'How long.', { otelName: 'took', bounds: [1, 2] })({ 'rpc.method': 'A' }, 1.5);
  metrics.gauge('speaking', 'At the moment.', () => [[{}, 0.5]]);
  const headers = { Authorization: 'Bearer x' };
  const target = { headers, compression: 'none', timeoutMs: 10_000, ...how } as const;
  const otlp = openOtlpExport({
    traces: { ...target, url: `${endpoint}/v1/traces` },
    metrics: { ...target, url: `${endpoint}/v1/metrics` },
    ...{ queuedSpansMax: 4096, batchSpansMax: 512, batchEveryMs },
    resource: { 'service.name': 'sonant' },
    metricsEveryMs: readMetrics ? 10 : 60_000,
    readMetrics: readMetrics ?? metrics.families,
    onFault: (fault) => faults.push(fault),
  });
  return { otlp, faults, tracing: createTracing({ share: 1, isParentBased: true }, otlp.add) };
}

test.each([{ compression: 'none' }, { compression: 'gzip' }] as const)(
  'spans and metrics arrive in OTLP, with the headers of the operator: %o',
  async (how) => {
    const { endpoint, received } = await openCollector();
    const { otlp, tracing, faults } = open(endpoint, undefined, how);
    const span = tracing.begin(
      {},
      { name: 'call', kind: 'server', attributes: { n: 1, share: 0.5, is: true, not: undefined } },
    );
    span.child({ name: 'speak', kind: 'client' }).end('engine_error');
    span.end();
    await otlp.close();
    const traces = received.find(({ path }) => path === '/v1/traces')!;
    expect(traces.authorization).toBe('Bearer x');
    const [{ resource, scopeSpans }] = traces.message.resourceSpans;
    expect(resource.attributes).toEqual([{ key: 'service.name', value: { stringValue: 'sonant' } }]);
    const [child, call] = scopeSpans[0].spans;
    expect(call).toMatchObject({
      traceId: span.traceId,
      name: 'call',
      kind: 2,
      attributes: [
        { key: 'n', value: { intValue: '1' } },
        { key: 'share', value: { doubleValue: 0.5 } },
        { key: 'is', value: { boolValue: true } },
      ],
      status: {},
    });
    expect(child).toMatchObject({ parentSpanId: call.spanId, kind: 3, status: { code: 2, message: 'engine_error' } });
    expect(Math.abs(Number(BigInt(call.startTimeUnixNano) / 1_000_000n) - Date.now())).toBeLessThan(60_000);
    const [{ scopeMetrics }] = received.find(({ path }) => path === '/v1/metrics')!.message.resourceMetrics;
    const [calls, took, speaking] = scopeMetrics[0].metrics;
    expect(calls).toMatchObject({ name: 'calls_total', sum: { isMonotonic: true, dataPoints: [{ asDouble: 2 }] } });
    const buckets = { count: '1', sum: 1.5, bucketCounts: ['0', '1', '0'], explicitBounds: [1, 2] };
    expect(took).toMatchObject({ name: 'took', unit: 's', histogram: { dataPoints: [buckets] } });
    expect(took.histogram.dataPoints[0].attributes[0].key).toBe('rpc.method');
    expect(speaking).toMatchObject({ gauge: { dataPoints: [{ asDouble: 0.5 }] } });
    expect(faults).toEqual([]);
  },
);

test('spans that a collector cannot take are sent again', async () => {
  const { endpoint, received } = await openCollector((count) => (count === 1 ? 503 : 200));
  const { otlp, tracing } = open(endpoint, undefined, {}, 10);
  tracing.begin({}, { name: 'call', kind: 'server' }).end();
  await vi.waitFor(() => expect(received).toHaveLength(2), { timeout: 20_000 });
  expect(received[1]).toEqual(received[0]);
  await otlp.close();
  expect(otlp.dropped).toBe(0);
});

test('a collector that is away costs spans, which are counted, and is told of once', async () => {
  const { endpoint, received } = await openCollector(() => 503);
  const { otlp, tracing, faults } = open(endpoint);
  for (let i = 0; i < 5000; i++) tracing.begin({}, { name: 'call', kind: 'server' }).end();
  expect(otlp.dropped).toBe(5000 - 4096);
  await otlp.close();
  expect(otlp.dropped).toBe(5000);
  expect(received.length).toBeGreaterThan(0);
  expect(faults.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^the OpenTelemetry collector returned status 503 for http/),
  ]);
});

test('metrics that cannot be read, and spans that cannot be written, are told of, and cost nothing else', async () => {
  const { endpoint, received } = await openCollector();
  const { otlp, tracing, faults } = open(endpoint, () => {
    throw new TypeError('a bug in a gauge');
  });
  await vi.waitFor(() => expect(faults).toHaveLength(1), { timeout: 20_000 });
  expect(faults[0]!.cause).toBeInstanceOf(TypeError);
  tracing.begin({}, { name: 'call', kind: 'server' }).end();
  await otlp.close();
  expect(received.map(({ path }) => path)).toEqual(['/v1/traces']);
  const broken = open(endpoint);
  broken.otlp.add({} as never);
  await broken.otlp.close();
  expect(broken.otlp.dropped).toBe(1);
  expect(broken.faults).toHaveLength(1);
});
