// An OpenTelemetry collector on loopback: a real HTTP server that stores its input and answers as requested.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { onTestFinished } from 'vitest';

interface Received {
  path: string;
  authorization: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: any message
  message: any;
}

/** A span as it arrived. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
}

export async function openCollector(
  statusOf: (count: number) => number = () => 200,
  onClose: (close: () => Promise<void>) => void = onTestFinished,
) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const { 'content-type': contentType, 'content-encoding': encoding } = request.headers;
    const plain = encoding === 'gzip' ? gunzipSync(body) : body;
    const message = contentType === 'application/json' ? JSON.parse(String(plain)) : readProtobuf(request.url!, plain);
    received.push({ path: request.url!, authorization: request.headers.authorization, message });
    response.writeHead(statusOf(received.length), { 'Content-Type': 'application/json' }).end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onClose(async () => {
    server.closeAllConnections();
    server.close();
  });
  const spans = (): (ReceivedSpan & { process: string })[] =>
    received.flatMap(({ path, message }) => {
      if (path !== '/v1/traces') return [];
      const [{ resource, scopeSpans }] = message.resourceSpans;
      const id = resource.attributes.find(({ key }: { key: string }) => key === 'service.instance.id');
      return scopeSpans[0].spans.map((span: ReceivedSpan) => ({ ...span, process: id.value.stringValue }));
    });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, spans };
}

const otlp = protobuf.loadSync(join(import.meta.dirname, 'otlp.proto'));

/** The message in OTLP's form of JSON, where ids are hexadecimal. */
function readProtobuf(path: string, body: Uint8Array) {
  const type = otlp.lookupType(path === '/v1/metrics' ? 'MetricsData' : 'TracesData');
  const message = type.toObject(type.decode(body), { longs: String, bytes: String });
  const hex = (key: string, value: unknown) =>
    /^(traceId|(parentS|s)panId)$/.test(key) ? toHex(value as string) : value;
  return JSON.parse(JSON.stringify(message, hex));
}

const toHex = (base64: string) => Buffer.from(base64, 'base64').toString('hex');
