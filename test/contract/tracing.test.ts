// Tests that one trace covers all parts of an answer: two replicas, audio store, database, and remote engine.
import { expect, test } from 'vitest';
import { openAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { openOpenAiServer } from '../engines/openai-server.ts';
import { openCollector, type ReceivedSpan } from '../platform/telemetry/collector.ts';
import { openReplicas } from './open-replicas.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${callerSpanId}-01`;

test('the spans of two replicas, of the stores and of an engine elsewhere hang under the span of the caller', async (context) => {
  const closing: (() => Promise<void>)[] = [];
  const elsewhere = await openOpenAiServer();
  const collector = await openCollector();
  const opened = await openReplicas(2, (close) => closing.push(close), {
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      SONANT_OPENAI_URL: elsewhere.url,
      SONANT_OPENAI_SAMPLE_RATE: '24000',
      SONANT_BASE_URL: '',
    },
    engines: [openAiCompatible],
  });
  if (!opened) return context.skip();
  const { replicas, key } = opened;
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json', traceparent };
  const speak = (url: string) =>
    fetch(`${url}/api/audio/speech`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ voice_id: 'tone-low', text: 'A secret sentence.', return_format: 'url' }),
    });
  const first = await speak(replicas[0]!.url);
  expect([first.status, first.headers.get('x-cache')]).toEqual([200, 'MISS']);
  const again = await speak(replicas[1]!.url);
  expect([again.status, again.headers.get('x-cache')]).toEqual([200, 'HIT']);
  for (const close of closing) await close();

  const spans = collector.spans().filter((span) => span.traceId === traceId);
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const roots = spans.filter((span) => span.parentSpanId === callerSpanId);
  expect(roots.map(({ name }) => name)).toEqual(Array(2).fill('sonant.v1.SpeechService/SynthesizeSpeech'));
  expect(new Set(roots.map(({ process }) => process)).size).toBe(2);
  const orphans = spans.filter((span) => span.parentSpanId !== callerSpanId && !byId.has(span.parentSpanId!));
  expect(orphans).toEqual([]);
  const names = spans.map(({ name }) => name);
  expect(names).toContain('speak openai-compatible');
  expect(names.some((name) => name.startsWith('postgresql '))).toBe(true);
  expect(names.some((name) => /^(s3|files) commit$/.test(name))).toBe(true);
  const engine = spans.find(({ name }) => name === 'speak openai-compatible')!;
  expect(elsewhere.requests[0]?.traceparent).toBe(`00-${traceId}-${engine.spanId}-01`);
  expect(JSON.stringify(spans)).not.toContain('secret');
  console.info(toTree(spans, callerSpanId).join('\n'));
});

/** The spans as a tree, with start and duration. */
function toTree(spans: readonly ReceivedSpan[], parentId: string, depth = 0, fromNs?: bigint): string[] {
  const starts = (span: ReceivedSpan) => BigInt(span.startTimeUnixNano);
  const children = spans.filter(({ parentSpanId }) => parentSpanId === parentId);
  return children
    .toSorted((a, b) => Number(starts(a) - starts(b)))
    .flatMap((span) => {
      const originNs = fromNs ?? starts(span);
      const ms = (ns: bigint) => (Number(ns) / 1e6).toFixed(1);
      const times = `${ms(starts(span) - originNs)} + ${ms(BigInt(span.endTimeUnixNano) - starts(span))} ms`;
      return [`${'  '.repeat(depth)}${span.name}  ${times}`, ...toTree(spans, span.spanId, depth + 1, originNs)];
    });
}
