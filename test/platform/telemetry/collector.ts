// Runs an OpenTelemetry collector on loopback: a real HTTP server that stores requests and answers as instructed.
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { listen } from '../../free-port.ts';

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
    const isGzip = request.headers['content-encoding'] === 'gzip';
    const message = JSON.parse(String(isGzip ? gunzipSync(body) : body));
    received.push({ path: request.url!, authorization: request.headers.authorization, message });
    response.writeHead(statusOf(received.length), { 'Content-Type': 'application/json' }).end('{}');
  });
  const serverPort = await listen(server);
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
  return { endpoint: `http://127.0.0.1:${serverPort}`, received, spans };
}
