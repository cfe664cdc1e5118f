// Tests metrics in Prometheus format: every family once, labels escaped, cumulative buckets.
import { expect, test } from 'vitest';
import { createMetrics } from '../../../src/platform/telemetry/prometheus.ts';

test('counters, gauges and durations are written in the exposition format', () => {
  const metrics = createMetrics();
  const calls = metrics.counter('calls_total', 'Calls.');
  const took = metrics.distribution('call_seconds', 'How long.');
  metrics.gauge('speaking', 'Now.', () => [[{ engine: 'a' }, 2]]);
  calls({ method: 'A', note: 'with "quotes", \\ and\nlines' });
  calls({ method: 'B' }, 3);
  calls({ method: 'B' });
  for (const seconds of [0.001, 0.3, 1000]) took({ method: 'A' }, seconds);
  const lines = metrics.text().split('\n');
  expect(lines.slice(0, 4)).toEqual([
    '# HELP calls_total Calls.',
    '# TYPE calls_total counter',
    'calls_total{method="A",note="with \\"quotes\\", \\\\ and\\nlines"} 1',
    'calls_total{method="B"} 4',
  ]);
  expect(lines).toContain('# TYPE call_seconds histogram');
  expect(lines).toContain('call_seconds_bucket{method="A",le="0.005"} 1');
  expect(lines).toContain('call_seconds_bucket{method="A",le="0.5"} 2');
  expect(lines).toContain('call_seconds_bucket{method="A",le="+Inf"} 3');
  expect(lines).toContain('call_seconds_count{method="A"} 3');
  expect(lines).toContain('speaking{engine="a"} 2');
  expect(metrics.text().endsWith('\n')).toBe(true);
});

test('the series of what is gone can be removed', () => {
  const metrics = createMetrics();
  const took = metrics.distribution('took_seconds', 'How long.');
  for (const server of ['a', 'b']) took({ server }, 1);
  took.forget({ server: 'a' });
  expect(metrics.text()).not.toContain('server="a"');
  expect(metrics.text()).toContain('took_seconds_count{server="b"} 1');
});
