// Tests OpenTelemetry's standard variables: what a configured service exports, and which values are ignored.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { explainMistake } from '../../src/platform/runtime/config-mistakes.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { defineTone } from '../engines/tone-engine.ts';
import { newFolder } from '../new-folder.ts';
import { openCollector } from '../platform/telemetry/collector.ts';
import { openConfigured } from './open-configured.ts';

const load = (env: Record<string, string>, folder = newFolder()) =>
  loadConfig({ env, folder, engines: [defineTone()] });

/** Requests a text whole and as events, closes the service, and returns the collector's input and the log lines. */
async function speak(variables: (endpoint: string) => Record<string, string>, headers: Record<string, string> = {}) {
  const { endpoint, received, spans } = await openCollector();
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', (line) => void lines.push(JSON.parse(line)));
  const service = await openConfigured(variables(endpoint), { log });
  const body = JSON.stringify({ voice_id: 'tone-low', text: 'A short sentence.' });
  for (const path of ['speech', 'speech/sse', 'speech']) {
    const answer = await fetch(`${service.url}/api/audio/${path}`, {
      method: 'POST',
      headers: { ...headers, 'X-API-Key': service.key, 'Content-Type': 'application/json' },
      body,
    });
    expect([path, answer.status]).toEqual([path, 200]);
    await answer.arrayBuffer();
  }
  await service.drain();
  return { received, spans: spans(), lines };
}

test('traces and metrics are sent if only the standard variables are set', async () => {
  const { received, spans, lines } = await speak((endpoint) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20x',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%2Cb,service.name=other',
    OTEL_SERVICE_NAME: 'voices',
  }));
  expect(new Set(received.map(({ path }) => path))).toEqual(new Set(['/v1/traces', '/v1/metrics']));
  expect(new Set(received.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer x']));
  const [{ resource, scopeMetrics }] = received.findLast(({ path }) => path === '/v1/metrics')!.message.resourceMetrics;
  const attributes = Object.fromEntries(
    resource.attributes.map(({ key, value }: { key: string; value: { stringValue: string } }) => [
      key,
      value.stringValue,
    ]),
  );
  expect(attributes).toMatchObject({ 'service.name': 'voices', 'deployment.environment.name': 'a,b' });
  const names = scopeMetrics[0].metrics.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['sonant_calls_total', 'sonant_first_sound_seconds']));
  expect(spans.map(({ name }) => name)).toContain('sonant.v1.SpeechService/SynthesizeSpeech');
  // Each synthesis has its time to first audio; the cached answer has none.
  const calls = lines.filter(({ message }) => message === 'call');
  expect(calls.map(({ firstSoundMs }) => typeof firstSoundMs)).toEqual(['number', 'number', 'undefined']);
});

test('each signal has its own address, which is used unchanged, and compression', async () => {
  const { received } = await speak((endpoint) => ({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/own?key=1`,
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
  }));
  expect(new Set(received.map(({ path }) => path))).toEqual(new Set(['/own?key=1']));
  expect(received[0]!.message.resourceSpans).toHaveLength(1);
});

test.each([
  ['OTEL_SDK_DISABLED', 'TRUE', []],
  ['OTEL_TRACES_EXPORTER', 'none', ['/v1/metrics']],
  ['OTEL_METRICS_EXPORTER', 'none', ['/v1/traces']],
  ['OTEL_TRACES_SAMPLER', 'always_off', ['/v1/metrics']],
])('%s=%s leaves the other signals', async (name, value, paths) => {
  const { received } = await speak((endpoint) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, [name]: value }));
  expect([...new Set(received.map(({ path }) => path))].toSorted()).toEqual(paths);
});

test('the caller decides what is traced, unless the sampler is not based on the parent', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
  const spansWith = async (sampler: string) => {
    const all = await speak((endpoint) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER: sampler }), {
      traceparent,
    });
    return all.spans.length > 0;
  };
  expect([await spansWith('parentbased_always_on'), await spansWith('always_on')]).toEqual([false, true]);
});

test('invalid and unsupported values are warnings, and the defaults apply', () => {
  const config = load({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_HEADERS: 'secret',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_SDK_DISABLED: '1',
    OTEL_RESOURCE_ATTRIBUTES: 'a=%',
    OTEL_BSP_MAX_QUEUE_SIZE: '',
    OTEL_PYTHON_LOG_LEVEL: 'info',
  });
  expect(config.otel.both).toMatchObject({ endpoint: '', headers: '', protocol: 'http/json' });
  expect(config.otel.rest).toMatchObject({ sampleShare: 1, isDisabled: false, attributes: '', queuedSpansMax: 2048 });
  expect(config.warnings.map(explainMistake)).toEqual([
    'OTEL_EXPORTER_OTLP_CERTIFICATE (environment): is not supported, and ignored',
    'OTEL_EXPORTER_OTLP_ENDPOINT = collector:4317 (environment): is ignored, because it must be an http or https URL',
    expect.stringMatching(/^OTEL_EXPORTER_OTLP_HEADERS = \(secret\)/),
    'OTEL_EXPORTER_OTLP_PROTOCOL = grpc (environment): is ignored, because it must be http/json',
    expect.stringMatching(/^OTEL_SDK_DISABLED = 1/),
    expect.stringMatching(/^OTEL_RESOURCE_ATTRIBUTES = a=%/),
    expect.stringMatching(/^OTEL_TRACES_SAMPLER_ARG = 2/),
  ]);
});

test('the earlier names are read with a warning, and a standard name overrides its earlier name', () => {
  const folder = newFolder();
  writeFileSync(join(folder, '.env'), 'OTEL_SERVICE_NAME=voices\nSONANT_OTLP_ENDPOINT=http://old:4318\n');
  writeFileSync(join(folder, 'sonant.toml'), 'otlp_metrics_seconds = 5\ntrace_percent = 25\n');
  const { otel, warnings } = load({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://new:4318' }, folder);
  expect(otel.both.endpoint).toBe('http://new:4318');
  expect(otel.rest).toMatchObject({
    ...{ serviceName: 'voices', metricsEveryMs: 5000 },
    ...{ sampler: 'parentbased_traceidratio', sampleShare: 0.25 },
  });
  expect(warnings.map(explainMistake)).toEqual([
    'SONANT_OTLP_ENDPOINT (.env): will not be read by the next version; set OTEL_EXPORTER_OTLP_ENDPOINT instead',
    'SONANT_OTLP_METRICS_SECONDS (sonant.toml): will not be read by the next version; set OTEL_METRIC_EXPORT_INTERVAL instead',
    expect.stringMatching(/^SONANT_TRACE_PERCENT \(sonant.toml\).*OTEL_TRACES_SAMPLER/),
  ]);
});
