// Tests which caller headers traces accept, and the parents of spans.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Failure } from '../../../src/platform/errors.ts';
import {
  createTracing,
  type EndedSpan,
  measured,
  traceHeaders,
  within,
} from '../../../src/platform/telemetry/trace.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const options = { name: 'call', kind: 'server' as const };

function begin(headers = {}, share = 1, isParentBased = true) {
  const ended: EndedSpan[] = [];
  const span = createTracing({ share, isParentBased }, (each) => ended.push(each)).begin(headers, options);
  return { span, ended };
}

test('a trace that the caller has begun goes on, its state with it', () => {
  const { span, ended } = begin({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=1' });
  expect(span.headers).toEqual({
    traceparent: expect.stringMatching(new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-01$`)),
    tracestate: 'vendor=1',
  });
  span.end();
  span.end();
  expect(ended).toMatchObject([{ traceId, parentSpanId: spanId, name: 'call', kind: 'server', fault: undefined }]);
});

test.each([
  '',
  'nonsense',
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
])('a header that is no traceparent begins a new trace: %j', (traceparent) => {
  const { span, ended } = begin({ traceparent });
  expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(span.traceId).not.toBe(traceId);
  span.end();
  expect(ended[0]?.parentSpanId).toBeUndefined();
});

test('a later version of the header is read as far as it is known', () => {
  expect(begin({ traceparent: `01-${traceId}-${spanId}-01-what-comes` }).span.traceId).toBe(traceId);
});

test('what the caller does not record is not recorded here, and is passed on so', () => {
  const { span, ended } = begin({ traceparent: `00-${traceId}-${spanId}-00` });
  expect(span.headers.traceparent).toMatch(/-00$/);
  span.end();
  expect(ended).toEqual([]);
  const unsampled = begin({}, 0);
  unsampled.span.end();
  expect(unsampled.ended).toEqual([]);
});

test('measured work hangs under the span in which it runs, across awaits, and a failure is told by its reason', async () => {
  const { span, ended } = begin();
  const failing = async () => {
    await sleep(1);
    expect(traceHeaders().traceparent).toContain(span.traceId);
    throw new Failure('engine_error', {}, new Error('a secret text'));
  };
  await within(span, async () => {
    await sleep(1);
    await measured({ name: 'outer', kind: 'internal' }, async () => {
      await measured({ name: 'inner', kind: 'client' }, failing).catch(() => {});
    });
  });
  span.end();
  const [inner, outer, call] = ended;
  expect([inner?.name, inner?.fault, inner?.parentSpanId]).toEqual(['inner', 'engine_error', outer?.spanId]);
  expect([outer?.name, outer?.parentSpanId]).toEqual(['outer', call?.spanId]);
  expect(JSON.stringify(ended)).not.toContain('secret');
  expect(call!.endMs).toBeGreaterThanOrEqual(call!.startMs);
});

test('without a span nothing is measured and no header is sent', async () => {
  expect(await measured({ name: 'alone', kind: 'internal' }, async (span) => [span, traceHeaders()])).toEqual([
    undefined,
    {},
  ]);
});
