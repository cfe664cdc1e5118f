// Metrics in the text format of Prometheus (exposition format 0.0.4):
//
//     # HELP sonant_calls_total Calls that have ended.
//     # TYPE sonant_calls_total counter
//     sonant_calls_total{method="StreamSpeech",status="OK"} 12
//
// Labels are few and their values bounded: names of engines, methods and failures, never callers, keys or texts.

export type Labels = Readonly<Record<string, string>>;

export interface Metrics {
  /** A counter; the function that it returns increments it. */
  counter(name: string, help: string): (labels?: Labels, by?: number) => void;
  /** A histogram of durations in seconds; the function that it returns observes one. */
  durations(name: string, help: string): (labels: Labels, seconds: number) => void;
  /** A counter whose value is read from elsewhere. */
  total(name: string, help: string, read: () => number): void;
  /** A gauge, read when the metrics are. */
  gauge(name: string, help: string, read: () => Iterable<readonly [Labels, number]>): void;
  text(): string;
}

const secondsMax = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createMetrics(): Metrics {
  const families: (() => string)[] = [];
  const add = (name: string, help: string, type: string, lines: () => readonly string[]) => {
    families.push(() => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines()].join('\n'));
  };
  return {
    counter(name, help) {
      const counts = new Map<string, number>();
      add(name, help, 'counter', () => [...counts].map(([labels, count]) => `${name}${labels} ${count}`));
      return (labels = {}, by = 1) => {
        const key = toText(labels);
        counts.set(key, (counts.get(key) ?? 0) + by);
      };
    },
    durations(name, help) {
      const series = new Map<string, { labels: Labels; counts: number[]; sum: number }>();
      add(name, help, 'histogram', () =>
        [...series.values()].flatMap(({ labels, counts, sum }) => {
          let below = 0;
          const buckets = [...secondsMax, Infinity].map((max, i) => {
            below += counts[i]!;
            return `${name}_bucket${toText({ ...labels, le: max === Infinity ? '+Inf' : String(max) })} ${below}`;
          });
          return [...buckets, `${name}_sum${toText(labels)} ${sum}`, `${name}_count${toText(labels)} ${below}`];
        }),
      );
      return (labels, seconds) => {
        const key = toText(labels);
        const one = series.get(key) ?? { labels, counts: Array<number>(secondsMax.length + 1).fill(0), sum: 0 };
        const at = secondsMax.findIndex((max) => seconds <= max);
        one.counts[at < 0 ? secondsMax.length : at]!++;
        one.sum += seconds;
        series.set(key, one);
      };
    },
    total: (name, help, read) => add(name, help, 'counter', () => [`${name} ${read()}`]),
    gauge(name, help, read) {
      add(name, help, 'gauge', () => [...read()].map(([labels, value]) => `${name}${toText(labels)} ${value}`));
    },
    text: () => `${families.map((family) => family()).join('\n')}\n`,
  };
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

function toText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (char) => escapes[char]!)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
