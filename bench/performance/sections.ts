// The sections of docs/performance.md in order, with the benches that each uses and the columns that are plotted. The prose
// says what is compared and how, and contains no figure that a bench measures.

export interface Section {
  title: string;
  text: string;
  benches: readonly BenchView[];
}

export interface BenchView {
  bench: string;
  /** Shows only rows whose text in these columns matches. The stored report has the other rows. */
  rows?: Readonly<Record<string, RegExp>>;
  /** A column of the first table whose values become columns. */
  across?: string;
  plots: readonly Plot[];
}

export interface Plot {
  title: string;
  axis: string;
  /** Index of the table in the report. */
  table: number;
  /** Columns whose figures are drawn: one by name, or all that match. */
  values: string | RegExp;
  /** Columns that label a row. Default: all columns that contain text. */
  labels?: readonly string[];
  /** Matches the group and label of Sonant's own bars. */
  ours: RegExp;
  /** Returns the name of the goal of a bar. */
  goalOf?: (bar: { group: string; label: string }) => string;
}

const sonant = /(^|, )(sonant|node src|npm start|alone$|\d replica)/;
const all = /^/;

export const sections: readonly Section[] = [
  {
    title: 'Natural voices',
    text: `Time from a request until the first sample above -40 dBFS has arrived, on open connections, with real weights; then speed, CPU time and
memory, and several callers at once. "Listening" callers hear each text before they ask for the next one; other callers do not pause. Peers run
in the same rounds, with the same weights.`,
    benches: [
      {
        bench: 'neural',
        rows: { characters: /^100$/, callers: /^8/ },
        plots: [
          {
            ...{ title: 'Time to the first sound', axis: 'ms, less is better', table: 0 },
            ...{ values: 'REST', ours: /^(hibari|kokoro|Piper)(,|$)/ },
          },
          {
            ...{ title: 'CPU time', axis: 'ms per second of audio, less is better', table: 1 },
            ...{ values: 'CPU ms per second of audio', ours: /^(hibari|kokoro|Piper)(,|$)/ },
          },
        ],
      },
    ],
  },
  {
    title: 'Start and size',
    text: `Time from the start of the process until \`/readyz\` returns 200, and memory before the first call. "First" is the first start after
\`npm ci\`, "warm" a later one, "nothing compiled" the first start after \`npm ci --ignore-scripts\`.`,
    benches: [
      {
        bench: 'start',
        rows: { start: /^(?!a Node)/ },
        plots: [
          {
            ...{
              title: 'Time from the start until ready',
              axis: 'ms, less is better',
              table: 0,
              values: /^(nothing compiled|first|warm) ms$/,
            },
            ours: sonant,
            goalOf: ({ group, label }) => (group.startsWith('node src') ? label : ''),
          },
          {
            ...{
              title: 'Resident memory when idle',
              axis: 'MiB, less is better',
              table: 0,
              values: 'idle resident MiB',
            },
            ...{ ours: sonant, goalOf: ({ label }) => (label.startsWith('node src') ? 'idle resident MiB' : '') },
          },
        ],
      },
    ],
  },
  {
    title: 'Stored and cached audio',
    text: `A download of a link, and a request that the cache answers, with keys, limits, usage and log. nginx sends a file of equal size, with one
worker and no log; Fastify alone sends the same bytes and headers from memory.`,
    benches: [
      {
        bench: 'stored',
        plots: [
          {
            ...{ title: 'Requests per second, as a share of nginx', axis: 'share, more is better', table: 0 },
            ...{ values: 'share of nginx', ours: sonant },
            goalOf: ({ group, label }) => `${group}: requests/s, ${label} / nginx`,
          },
          {
            title: 'CPU time of the server',
            axis: 'µs per request, less is better',
            table: 0,
            values: 'CPU us/request',
            ours: sonant,
          },
        ],
      },
    ],
  },
  {
    title: 'APIs',
    text: `The cost of an API without an engine: the description of a voice, 100 KB of audio in one response, a stream of 20 pieces of 8 KiB, and
stored audio of 100 KB. node:http sends the same bytes without keys, limits, usage or log. "Same handler" is @grpc/grpc-js with Sonant's
handlers. Sonant's gRPC server is Connect, which needs far more CPU time than @grpc/grpc-js for a small call.`,
    benches: [
      {
        bench: 'transports',
        rows: { server: /^(?!grpc-js$|node:http2$)/ },
        plots: [
          {
            ...{
              title: 'Requests per second: Sonant, divided by the other server',
              axis: 'ratio, more is better',
              table: 0,
            },
            ...{ values: 'requests/s, sonant / other', ours: all },
            goalOf: ({ group, label }) => `${group}: requests/s, sonant / ${label}`,
          },
          {
            title: 'Requests per second',
            axis: 'requests per second, more is better',
            table: 0,
            values: 'requests/s',
            ours: sonant,
          },
          {
            title: 'CPU time of the server',
            axis: 'µs per request, less is better',
            table: 0,
            values: 'CPU us/request',
            ours: sonant,
          },
        ],
      },
    ],
  },
  {
    title: 'Around an engine',
    text: `The cost that the service adds to its engine. In \`served-espeak\`, Flask and FastAPI have one process each, and no keys, limits, usage,
checks of the audio or streaming; at 22 050 Hz, Sonant also finds the time of each word.`,
    benches: [
      {
        bench: 'service-cost',
        plots: [
          {
            ...{
              title: 'CPU time per second of audio',
              axis: 'ms of CPU time per second of audio, less is better',
              table: 0,
            },
            ...{ values: 'CPU ms/s', ours: /\d$/ },
            goalOf: ({ label }) => `${label}: CPU ms per second of audio`,
          },
          { title: 'Time to first audio', axis: 'ms, less is better', table: 0, values: 'first audio ms', ours: /\d$/ },
        ],
      },
      {
        bench: 'espeak',
        plots: [
          {
            ...{
              title: 'CPU time of a text, divided by that of the bare library',
              axis: 'ratio, less is better',
              table: 0,
            },
            ...{ values: /\/raw$/, ours: /, (?!engine)/ },
            goalOf: ({ group, label }) => `${label.replace('/raw', ' / raw')}, ${group}`,
          },
        ],
      },
      {
        bench: 'served-espeak',
        across: 'server',
        plots: [
          {
            ...{
              title: 'eSpeak NG in servers: CPU time of a text, divided by that of the bare library',
              axis: 'ratio, less is better',
              table: 0,
            },
            ...{ values: '/ bare library', labels: ['characters', 'sound', 'server'], ours: sonant },
          },
          {
            ...{ title: 'Texts of 60 characters, 64 clients', axis: 'per second, more is better', table: 1 },
            ...{ values: 'requests/s', ours: sonant },
          },
        ],
      },
      {
        bench: 'served-voice',
        plots: [
          {
            ...{
              title: 'Built-in voice: CPU time of a text in the service, divided by that of the bare program',
              axis: 'ratio, less is better',
              table: 0,
            },
            ...{ values: /\/raw$/, ours: all },
            goalOf: ({ group, label }) => `${label.replace('/raw', ' / raw')}, ${group}`,
          },
        ],
      },
    ],
  },
  {
    title: 'Replicas',
    text: `One process on SQLite, and replicas that share PostgreSQL; replicas, stores and client share the cores of one machine.
[Scaling](scaling.md) says when replicas help.`,
    benches: [
      {
        bench: 'replicas',
        plots: [
          {
            title: 'Requests per second',
            axis: 'requests per second, more is better',
            table: 0,
            values: 'requests/s',
            ours: sonant,
          },
          {
            title: 'CPU time of the replicas',
            axis: 'µs per request, less is better',
            table: 0,
            values: 'CPU us/request',
            ours: sonant,
          },
        ],
      },
    ],
  },
];
