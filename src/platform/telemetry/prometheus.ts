// Metrics in the text format of Prometheus (exposition format 0.0.4). Label values are bounded: names of engines,
// methods and failures. Labels never contain callers, keys or texts.
//     # HELP sonant_calls_total Calls that have ended.
//     # TYPE sonant_calls_total counter
//     sonant_calls_total{method="StreamSpeech",status="OK"} 12

/** Values by label name. Prometheus replaces dots in label names with underscores. */
type Labels = Readonly<Record<string, string>>;

/** Snapshot of a family of metrics. */
export type MetricFamily = Described &
  (
    | { type: 'counter' | 'gauge'; points: readonly (readonly [Labels, number])[] }
    | { type: 'histogram'; bounds: readonly number[]; points: readonly Distribution[] }
  );

interface Described {
  name: string;
  help: string;
  /** Name in the semantic conventions of OpenTelemetry, if it has one. */
  otelName?: string | undefined;
  /** Unit in the notation of OpenTelemetry. */
  unit?: string | undefined;
}

/** Number of values in each bucket; the last bucket has no upper bound. */
interface Distribution {
  labels: Labels;
  counts: number[];
  sum: number;
}

interface DistributionOptions {
  /** Upper bounds of the buckets. Default: bounds for durations. */
  bounds?: readonly number[];
  otelName?: string;
  /** Unit of the values. Default: "s". */
  unit?: string;
}

interface Observe {
  (labels: Labels, value: number): void;
  /** Removes the series with these labels. */
  forget(labels: Labels): void;
}

/** Maximum number of voices with their own label. */
const labelledVoicesMax = 100;

/** Returns a function that gives the label of a voice. The number of voices is unlimited, so further ones share a label. */
export function createVoiceLabels(): (voiceId: string, mayBeNew?: boolean) => string {
  const labelled = new Set<string>();
  return (voiceId, mayBeNew = true) => {
    if (mayBeNew && labelled.size < labelledVoicesMax) labelled.add(voiceId);
    return labelled.has(voiceId) ? voiceId : 'other';
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

const secondsMax = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A room declares its metrics where it counts. A counter or histogram that is declared again is the same one. */
export function createMetrics() {
  const reads: (() => MetricFamily)[] = [];
  const declared = new Map<string, unknown>();
  const once = <Note>(name: string, declare: () => Note): Note => {
    if (!declared.has(name)) declared.set(name, declare());
    return declared.get(name) as Note;
  };
  const families = () => reads.map((read) => read());
  return {
    /** Declares a counter. The returned function increments it. */
    counter: (name: string, help: string): ((labels?: Labels, by?: number) => void) =>
      once(name, () => {
        const series = new Map<string, [labels: Labels, value: number]>();
        reads.push(() => ({ name, help, type: 'counter', points: [...series.values()] }));
        return (labels = {}, by = 1) => {
          const point = findOrAdd(series, labels, (): [Labels, number] => [labels, 0]);
          point[1] += by;
        };
      }),
    /** Declares a histogram, by default of durations in seconds. The returned function observes a value. */
    distribution: (
      name: string,
      help: string,
      { bounds = secondsMax, otelName, unit = 's' }: DistributionOptions = {},
    ): Observe =>
      once(name, () => {
        const series = new Map<string, Distribution>();
        reads.push(() => ({ name, help, otelName, unit, type: 'histogram', bounds, points: [...series.values()] }));
        const observe = (labels: Labels, value: number) => {
          const none = () => ({ labels, counts: Array<number>(bounds.length + 1).fill(0), sum: 0 });
          const one = findOrAdd(series, labels, none);
          const at = bounds.findIndex((max) => value <= max);
          one.counts[at < 0 ? bounds.length : at]!++;
          one.sum += value;
        };
        return Object.assign(observe, { forget: (labels: Labels) => void series.delete(toKey(labels)) });
      }),
    /** Declares a counter whose value is read whenever the metrics are exported. */
    total: (name: string, help: string, read: () => number): void => {
      reads.push(() => ({ name, help, type: 'counter', points: [[{}, read()]] }));
    },
    /** Declares a gauge whose values are read whenever the metrics are exported. */
    gauge(name: string, help: string, read: () => Iterable<readonly [Labels, number]>): void {
      reads.push(() => ({ name, help, type: 'gauge', points: [...read()] }));
    },
    families,
    text: (): string => `${families().map(toFamilyText).join('\n')}\n`,
  };
}

function findOrAdd<Point>(series: Map<string, Point>, labels: Labels, none: () => Point): Point {
  const key = toKey(labels);
  const known = series.get(key);
  if (known) return known;
  const point = none();
  series.set(key, point);
  return point;
}

/** Builds a key from the labels. It must be cheap, because every call looks up several metrics. */
function toKey(labels: Labels): string {
  let key = '';
  for (const name in labels) key += `${name}\0${labels[name]}\0`;
  return key;
}

function toFamilyText(family: MetricFamily): string {
  const { name, help, type } = family;
  const lines =
    family.type === 'histogram'
      ? family.points.flatMap((point) => toBucketLines(name, family.bounds, point))
      : family.points.map(([labels, value]) => `${name}${toText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
}

function toBucketLines(name: string, bounds: readonly number[], { labels, counts, sum }: Distribution): string[] {
  let below = 0;
  const buckets = [...bounds, Infinity].map((max, i) => {
    below += counts[i]!;
    return `${name}_bucket${toText({ ...labels, le: max === Infinity ? '+Inf' : String(max) })} ${below}`;
  });
  return [...buckets, `${name}_sum${toText(labels)} ${sum}`, `${name}_count${toText(labels)} ${below}`];
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

function toText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name.replaceAll('.', '_')}="${value.replace(/[\\"\n]/g, (char) => escapes[char]!)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
