// The sections of docs/performance.md in order, with the benches that each uses and the columns that are plotted. The prose
// says what is compared and how, and contains no figure that a bench measures.

export interface Section {
  title: string;
  text: string;
  benches: readonly BenchView[];
}

export interface BenchView {
  bench: string;
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

const sonant = /(^|, )(sonant|node src|npm start|alone$|\d replica|LiveSpeech|StreamSpeech)/;
const all = /^/;

export const sections: readonly Section[] = [
  {
    title: 'Start and size',
    text: `From the start of the process to the first \`/readyz\` that answers 200. The first start has an empty data
folder, and the code that \`npm ci\` compiled; warm is every later one; with nothing compiled, as after \`npm ci --ignore-scripts\`, Node
strips and compiles all the code. In the same rounds, a bare Fastify with one route is timed to its first
reply, and a Node that does nothing to its exit. Resident memory is that of a service that nobody has called yet.`,
    benches: [
      {
        bench: 'start',
        plots: [
          {
            ...{
              title: 'From the start to ready',
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
    title: 'Stored and cached sound',
    text: `A fetch of the link to stored sound, and a request whose sound is in the cache, through the whole service: keys, limits, usage and
log included. nginx sends a file of the same size with one worker and without a log; a bare Fastify sends the same bytes and headers from
memory.`,
    benches: [
      {
        bench: 'stored',
        plots: [
          {
            ...{ title: 'Requests a second, as a share of nginx', axis: 'share, more is better', table: 0 },
            ...{ values: 'share of the first', ours: sonant },
            goalOf: ({ group, label }) => `${group}: requests/s, ${label} / nginx`,
          },
          {
            title: 'CPU of the server',
            axis: 'µs a request, less is better',
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
    text: `REST, SSE and gRPC with sound that is ready, so that the APIs are all that is measured: a voice's description, 100 KB of sound in
one reply, 20 pieces of 8 KiB as a stream, and stored sound of 100 KB, which nginx sends too. Raw node:http and node:http2 parse the request and send the same bytes, node:http with
the same headers, ids and events, and do nothing else: no key, no limit, no usage, no log. @grpc/grpc-js is the usual gRPC server of
Node; where it says "same handler", it stands in front of Sonant's own operations.
gRPC is served by Connect alone, which has more layers around each message than grpc-js: the goal is 0.3 of the calls a second for a
small call, 0.9 for 100 KB in one reply and 1 for a stream. Until November 2026 a server of our own answered most calls (0.99, 2.0
and 2.4); without it a call with eSpeak NG and 60 characters costs 1.14 (stream) to 1.17 (unary) times as much CPU.`,
    benches: [
      {
        bench: 'transports',
        plots: [
          {
            ...{
              title: 'Requests a second of Sonant, divided by those of the other',
              axis: 'ratio, more is better',
              table: 0,
            },
            ...{ values: 'sonant requests/s : its', ours: all },
            goalOf: ({ group, label }) => `${group}: requests/s, sonant / ${label}`,
          },
          {
            title: 'Requests a second',
            axis: 'requests a second, more is better',
            table: 0,
            values: 'requests/s',
            ours: sonant,
          },
          {
            title: 'CPU of the server',
            axis: 'µs a request, less is better',
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
    text: `What the service costs above the engine that it calls. The first engine is a test server of fixed cost in another process: it is asked directly,
and through the service. The second is espeak-ng: its bare library in a loop, and the engine and the pipeline without an API; and
through a running service, beside a Flask and a FastAPI around the same library, which have no keys, limits, usage or checks of the
sound, and send a text's sound when all of it is there. Each of the two is one process that speaks one text at a time, Flask on its own
server and FastAPI on uvicorn; Sonant speaks in several child processes. At 22 050 Hz Sonant is asked by an API that also finds when
each word is heard. The third is the built-in
voice: its bare program, and through a running service; and the pipeline against its parts, each measured alone.`,
    benches: [
      {
        bench: 'service-cost',
        plots: [
          {
            ...{ title: 'CPU for a second of sound', axis: 'ms of CPU a second of sound, less is better', table: 0 },
            ...{ values: 'CPU ms/s', ours: /\d$/ },
            goalOf: ({ label }) => `${label}: CPU ms a second of sound`,
          },
          { title: 'First sound', axis: 'ms, less is better', table: 0, values: 'first sound ms', ours: /\d$/ },
        ],
      },
      {
        bench: 'espeak',
        plots: [
          {
            ...{
              title: 'CPU for a text, divided by that of the bare library',
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
        plots: [
          {
            ...{
              title: 'eSpeak NG through servers: CPU for a text, divided by that of the bare library',
              axis: 'ratio, less is better',
              table: 0,
            },
            ...{ values: ': bare library', labels: ['characters', 'sound', 'server'], ours: sonant },
          },
          {
            ...{ title: 'Texts of 60 characters, 64 clients', axis: 'a second, more is better', table: 1 },
            ...{ values: 'requests/s', ours: sonant },
          },
        ],
      },
      {
        bench: 'served-voice',
        plots: [
          {
            ...{
              title: 'Built-in voice: CPU of the service for a text, divided by that of the bare program',
              axis: 'ratio, less is better',
              table: 0,
            },
            ...{ values: /\/raw$/, ours: all },
            goalOf: ({ group, label }) => `${label.replace('/raw', ' / raw')}, ${group}`,
          },
        ],
      },
      {
        bench: 'heart',
        plots: [
          {
            ...{
              title: 'Embedded voice: CPU of the pipeline, divided by that of its parts',
              axis: 'ratio, less is better',
            },
            ...{ table: 0, values: 'pipeline/parts', ours: all },
            goalOf: ({ label }) => `pipeline / (engine + resampler + encoder), ${label}`,
          },
        ],
      },
    ],
  },
  {
    title: 'Sound',
    text: `Between the engine's samples and the bytes that are sent: conversion of the samples, resampling, levels and encoders, each alone
and together. Native encoders are those of ffmpeg, less what ffmpeg itself takes. The resampler's quality is measured with tones.`,
    benches: [
      {
        bench: 'sound',
        plots: [
          {
            title: 'CPU of a stage',
            axis: 'ms of CPU a second of sound, less is better',
            table: 0,
            values: 'CPU ms',
            ours: /^(?!engine)/,
          },
        ],
      },
      {
        bench: 'encoders',
        plots: [
          {
            ...{ title: 'CPU of the encoders', axis: 'ms of CPU a second of sound, less is better', table: 0 },
            ...{ values: 'CPU ms/s', labels: ['Hz', 'format'], ours: /, (?!native)/ },
          },
        ],
      },
      {
        bench: 'resampler',
        plots: [
          {
            ...{ title: 'CPU of the resampler', axis: 'ms of CPU a second of sound, less is better', table: 0 },
            ...{ values: 'CPU ms/s', labels: ['from Hz', 'to Hz'], ours: all },
          },
        ],
      },
    ],
  },
  {
    title: 'Live speech',
    text: `From the character that ends the first sentence to the first byte of sound, against the engine's own first sound of the same
segment, alone and beside other live streams; and the CPU of a live stream above its engine, against the streaming call with the same
text.`,
    benches: [
      {
        bench: 'live',
        plots: [
          {
            ...{ title: 'First sound after the first sentence', axis: 'ms (median), less is better', table: 0 },
            ...{ values: /: median$/, ours: /, live/ },
          },
          {
            title: 'CPU above the engine',
            axis: 'ms of CPU a text, less is better',
            table: 1,
            values: 'CPU ms',
            ours: sonant,
          },
        ],
      },
    ],
  },
  {
    title: 'Replicas',
    text: `One process on SQLite and memory, and replicas that share PostgreSQL and Redis, asked in turns. The replicas, their stores and the
client share the cores of one machine. [Scaling](scaling.md) says when replicas help.`,
    benches: [
      {
        bench: 'replicas',
        plots: [
          {
            title: 'Requests a second',
            axis: 'requests a second, more is better',
            table: 0,
            values: 'requests/s',
            ours: sonant,
          },
          {
            title: 'CPU of the replicas',
            axis: 'µs a request, less is better',
            table: 0,
            values: 'CPU us/request',
            ours: sonant,
          },
        ],
      },
    ],
  },
];
