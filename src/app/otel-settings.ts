// The standard OpenTelemetry variables, from the "Environment Variable Specification" and the "OpenTelemetry
// Protocol Exporter" specification. As required, an invalid value causes a warning, and the default applies.
import { choiceSetting, integerSetting, type Setting, textSetting } from '../platform/runtime/setting-types.ts';

/** Whether this is a web URL without credentials, which fetch would refuse and the log would show. */
const isWebUrl = (given: string) => /^https?:\/\/[^/@]+(\/|$)/.test(given) && URL.canParse(given);
const millisecondsMax = 86_400_000;

/** Exporter variables for both signals or for one signal. A variable for one signal overrides the variable for both. */
function exporterSettings(signal: '' | 'TRACES_' | 'METRICS_') {
  const prefix = `OTEL_EXPORTER_OTLP_${signal}` as const;
  const only = signal === '' ? '' : `, for ${signal.slice(0, -1).toLowerCase()} alone`;
  /** A variable for one signal has no default of its own. */
  const optional = <T>(setting: Setting<T>): Setting<T | ''> =>
    signal === '' ? setting : { ...setting, fallback: '', parse: (given) => given && setting.parse(given) };
  return {
    endpoint: textSetting({
      name: `${prefix}ENDPOINT`,
      help:
        signal === ''
          ? 'Base URL of an OpenTelemetry collector that accepts OTLP over HTTP, usually on port 4318; /v1/traces and /v1/metrics are appended'
          : `URL of the collector, to which nothing is appended${only}`,
      allowed: 'an http or https URL',
      isAllowed: isWebUrl,
      ...(signal === '' && { formerly: { name: 'SONANT_OTLP_ENDPOINT' } }),
    }),
    headers: textSetting({
      name: `${prefix}HEADERS`,
      help: `Headers for the collector, such as Authorization=Bearer%20x, separated by commas${only}`,
      allowed: pairsForm,
      isAllowed: (given) => parsePairs(given) !== undefined,
      secret: true,
      ...(signal === '' && { formerly: { name: 'SONANT_OTLP_HEADERS' } }),
    }),
    protocol: optional(
      choiceSetting<'http/json'>({
        name: `${prefix}PROTOCOL`,
        help: `Encoding of the messages${only}; collectors accept JSON where they accept protobuf`,
        choices: ['http/json'],
        fallback: 'http/json',
      }),
    ),
    timeoutMs: optional(
      milliseconds(`${prefix}TIMEOUT`, `Longest wait for the collector, in milliseconds${only}`, 10_000),
    ),
    compression: optional(
      choiceSetting<'none' | 'gzip'>({
        name: `${prefix}COMPRESSION`,
        help: `Compression of the messages${only}`,
        choices: ['none', 'gzip'],
        fallback: 'none',
      }),
    ),
  };
}

const milliseconds = (name: `OTEL_${string}`, help: string, fallback: number, formerly?: Setting['formerly']) =>
  integerSetting({ name, help, range: [1, millisecondsMax], fallback, ...(formerly && { formerly }) });

const exporterChoice = (signal: 'TRACES' | 'METRICS') =>
  choiceSetting<'otlp' | 'none'>({
    name: `OTEL_${signal}_EXPORTER`,
    help: `none: no ${signal.toLowerCase()} are exported`,
    choices: ['otlp', 'none'],
    fallback: 'otlp',
  });

const pairsForm = 'NAME=VALUE,NAME=VALUE, with other characters percent-encoded';

export const otelSettings = {
  both: exporterSettings(''),
  traces: exporterSettings('TRACES_'),
  metrics: exporterSettings('METRICS_'),
  rest: {
    isDisabled: {
      name: 'OTEL_SDK_DISABLED',
      help: 'true: nothing is exported',
      allowed: 'true or false',
      fallback: false,
      parse: (given: string) => ({ true: true, false: false })[given.toLowerCase()],
    } satisfies Setting<boolean>,
    tracesExporter: exporterChoice('TRACES'),
    metricsExporter: exporterChoice('METRICS'),
    serviceName: textSetting({ name: 'OTEL_SERVICE_NAME', help: 'Name of the service; default: sonant' }),
    attributes: textSetting({
      name: 'OTEL_RESOURCE_ATTRIBUTES',
      help: 'Attributes of this process, such as deployment.environment.name=production, separated by commas',
      allowed: pairsForm,
      isAllowed: (given) => parsePairs(given) !== undefined,
      formerly: { name: 'SONANT_OTLP_ATTRIBUTES' },
    }),
    sampler: choiceSetting({
      name: 'OTEL_TRACES_SAMPLER',
      help: 'Which calls are traced; with parentbased, the caller decides if it traces',
      choices: [
        ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
        ...(['always_on', 'always_off', 'traceidratio'] as const),
      ],
      fallback: 'parentbased_always_on',
      formerly: { name: 'SONANT_TRACE_PERCENT', toValue: () => 'parentbased_traceidratio' },
    }),
    sampleShare: {
      name: 'OTEL_TRACES_SAMPLER_ARG',
      help: 'Share of the calls that a traceidratio sampler traces',
      allowed: 'a number from 0 to 1',
      fallback: 1,
      formerly: { name: 'SONANT_TRACE_PERCENT', toValue: (percent) => String(Number(percent) / 100) },
      parse: (given) => (Number(given) >= 0 && Number(given) <= 1 ? Number(given) : undefined),
    } as Setting<number>,
    batchEveryMs: milliseconds('OTEL_BSP_SCHEDULE_DELAY', 'Milliseconds between exports of spans', 5000),
    queuedSpansMax: integerSetting({
      name: 'OTEL_BSP_MAX_QUEUE_SIZE',
      help: 'Spans that wait for the collector; more are dropped and counted',
      range: [1, 1_000_000],
      fallback: 2048,
    }),
    batchSpansMax: integerSetting({
      name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
      help: 'Spans in a message',
      range: [1, 100_000],
      fallback: 512,
    }),
    metricsEveryMs: milliseconds('OTEL_METRIC_EXPORT_INTERVAL', 'Milliseconds between exports of metrics', 60_000, {
      name: 'SONANT_OTLP_METRICS_SECONDS',
      toValue: (seconds) => String(Number(seconds) * 1000),
    }),
  },
};

/** Parses NAME=VALUE,NAME=VALUE. Returns undefined if the text has a different form. */
export function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  const read = pairs.map((pair) => /^\s*([^\s=]+)\s*=\s*([\x20-\x7e]*?)\s*$/.exec(pair));
  try {
    return Object.fromEntries(read.map((pair) => [pair![1]!, decodeURIComponent(pair![2]!)]));
  } catch {
    return undefined;
  }
}
