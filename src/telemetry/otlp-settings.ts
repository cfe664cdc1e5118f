// The settings of traces and metrics that are sent to a collector.
import { integerSetting, textSetting } from '../runtime/setting.ts';

export const otlpSettings = {
  otlpEndpoint: textSetting({
    name: 'SONANT_OTLP_ENDPOINT',
    help: 'Base URL of an OpenTelemetry collector that takes OTLP over HTTP (its port is usually 4318): traces and metrics are sent there',
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: (given) => /^https?:\/\/[^/]/.test(given) && !given.endsWith('/') && URL.canParse(given),
  }),
  otlpHeaders: textSetting({
    name: 'SONANT_OTLP_HEADERS',
    help: 'Headers for the collector, such as Authorization=Bearer x; several are separated by commas',
    allowed: 'NAME=VALUE,NAME=VALUE',
    isAllowed: (given) => parsePairs(given) !== undefined,
    secret: true,
  }),
  otlpAttributes: textSetting({
    name: 'SONANT_OTLP_ATTRIBUTES',
    help: 'Resource attributes of this process, such as deployment.environment.name=production,service.instance.id=a; service.name is sonant unless it is here',
    allowed: 'NAME=VALUE,NAME=VALUE',
    isAllowed: (given) => parsePairs(given) !== undefined,
  }),
  tracePercent: integerSetting({
    name: 'SONANT_TRACE_PERCENT',
    help: 'Share of calls, in percent, that are traced where the caller has not decided that with traceparent',
    min: 0,
    max: 100,
    fallback: 100,
  }),
  otlpMetricsSeconds: integerSetting({
    name: 'SONANT_OTLP_METRICS_SECONDS',
    help: 'Seconds between metrics that are sent to the collector',
    min: 1,
    max: 3600,
    fallback: 60,
  }),
};

/** Names and values; undefined where the text is something else. */
export function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  if (text === '') return {};
  const pairs = text.split(',').map((pair) => /^\s*([\w.-]+)\s*=\s*([\x20-\x7e]*?)\s*$/.exec(pair));
  if (pairs.some((pair) => !pair)) return undefined;
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]));
}
