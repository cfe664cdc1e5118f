// Opens a proxy in front of a real S3 service that passes each request on, or refuses, freezes, slows, cuts or answers
// it itself.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { listen } from '../../free-port.ts';

export type Fault =
  /** Resets the connection before anything is read. */
  | { kind: 'reset' }
  /** Never answers. */
  | { kind: 'freeze' }
  | { kind: 'answer'; status: number; code: string; retryAfter?: number }
  /** Passes on this much of the body, and then resets the connection. */
  | { kind: 'cut-request'; afterBytes: number }
  /** Performs the request, and resets the connection before the answer. */
  | { kind: 'lose-answer' }
  /** Passes on this much of the answer's body, and then resets the connection or leaves it open. */
  | { kind: 'cut-answer' | 'stall-answer'; afterBytes: number }
  /** Pauses before each piece of the request body and of the response body. */
  | { kind: 'slow'; pauseMs: number };

export async function openFaultProxy(target: string, onClose: (close: () => Promise<void>) => void = onTestFinished) {
  const { hostname: host, port } = new URL(target);
  const state = {
    /** The fault for a request; undefined passes it on. */
    faultOf: (_: { method: string; url: string }): Fault | undefined => undefined,
    requests: [] as string[],
  };
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers, socket } = request;
    request.on('error', () => undefined);
    state.requests.push(`${method} ${url}`);
    const fault = state.faultOf({ method, url });
    if (fault?.kind === 'reset') return void socket.resetAndDestroy();
    if (fault?.kind === 'freeze') return void request.resume();
    if (fault?.kind === 'answer') return answer(request, response, fault);
    const inner = send({ host, port, method, path: url, headers });
    inner.on('error', () => socket.resetAndDestroy());
    request.once('close', () => request.complete || inner.destroy());
    inner.once('response', (answered: IncomingMessage) => passBack(answered, response, fault).catch(() => undefined));
    await passOn(request, inner, fault).catch(() => inner.destroy());
  });
  const ownPort = await listen(server);
  onClose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(state, { endpoint: `http://127.0.0.1:${ownPort}` });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, code, retryAfter }: Fault & { kind: 'answer' },
) {
  await request
    .resume()
    .toArray()
    .catch(() => undefined);
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>as told</Message></Error>`;
  if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
  response.writeHead(status, { 'Content-Type': 'application/xml', 'Content-Length': body.length }).end(body);
}

async function passOn(request: IncomingMessage, inner: ReturnType<typeof send>, fault: Fault | undefined) {
  let passed = 0;
  for await (const bytes of request as AsyncIterable<Buffer>) {
    if (fault?.kind === 'slow') await sleep(fault.pauseMs);
    if (fault?.kind === 'cut-request' && passed + bytes.length > fault.afterBytes) {
      inner.write(bytes.subarray(0, fault.afterBytes - passed), () => inner.destroy());
      return void request.socket.resetAndDestroy();
    }
    passed += bytes.length;
    if (!inner.write(bytes)) await once(inner, 'drain');
  }
  inner.end();
}

async function passBack(answered: IncomingMessage, response: ServerResponse, fault: Fault | undefined) {
  if (fault?.kind === 'lose-answer') return void response.socket?.resetAndDestroy();
  response.writeHead(answered.statusCode!, answered.headers);
  let passed = 0;
  for await (const bytes of answered as AsyncIterable<Buffer>) {
    if (fault?.kind === 'slow') await sleep(fault.pauseMs);
    if (fault && 'afterBytes' in fault && passed + bytes.length > fault.afterBytes) {
      response.write(bytes.subarray(0, fault.afterBytes - passed));
      // Data already sent should arrive before the cut.
      await sleep(20);
      if (fault.kind === 'cut-answer') response.socket?.resetAndDestroy();
      return;
    }
    passed += bytes.length;
    if (!response.write(bytes)) await once(response, 'drain');
  }
  response.end();
}
