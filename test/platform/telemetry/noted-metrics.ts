// A registry of metrics that reports each observation to a test.
import { createMetrics, type Metrics } from '../../../src/platform/telemetry/prometheus.ts';

type Note = (name: string, labels: Readonly<Record<string, string>>, value: number) => void;

export function noteMetrics(note: Note): Metrics {
  const metrics = createMetrics();
  return {
    ...metrics,
    counter:
      (name) =>
      (labels = {}, by = 1) =>
        note(name, labels, by),
    distribution: (name) =>
      Object.assign((labels: Parameters<Note>[1], value: number) => note(name, labels, value), { forget() {} }),
  };
}
