// Serves a mirror of models on loopback that has ranges and ETags like GitHub's, and misbehaves on demand.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../../free-port.ts';

export interface Served {
  path: string;
  /** Number of the request for this path, from 1. */
  count: number;
  range: string | undefined;
  ifRange: string | undefined;
}

/** Handles a request instead of the mirror; returns true if it has answered. */
export type Fault = (request: Served, response: ServerResponse, whole: Buffer) => boolean | Promise<boolean>;

export interface Mirror extends AsyncDisposable {
  url: string;
  requests: Served[];
  files: Map<string, Buffer>;
  fault: Fault | undefined;
  /** Number of bytes sent at a time, and the pause in between. */
  pace: { bytes: number; ms: number } | undefined;
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export async function openMirror(files: Readonly<Record<string, Uint8Array>> = {}): Promise<Mirror> {
  const mirror: Mirror = {
    url: '',
    requests: [],
    files: new Map(Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes)])),
    fault: undefined,
    pace: undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => void serve(mirror, request, response));
  const serverPort = await listen(server);
  mirror.url = `http://127.0.0.1:${serverPort}`;
  return mirror;
}

async function serve(mirror: Mirror, { url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = url!.slice(1).replace(/\?.*$/, '');
  const count = mirror.requests.filter((request) => request.path === path).length + 1;
  const served = { path, count, range: headers.range, ifRange: headers['if-range'] as string | undefined };
  mirror.requests.push(served);
  const whole = mirror.files.get(path);
  if (await mirror.fault?.(served, response, whole ?? Buffer.alloc(0))) return;
  if (!whole) return void response.writeHead(404).end('Not Found');
  await send(response, whole, served, mirror.pace);
}

/** Answers 206 from the requested position, if the version matches. */
export async function send(response: ServerResponse, whole: Buffer, { range, ifRange }: Served, pace?: Mirror['pace']) {
  const etag = `"${sha256Of(whole).slice(0, 16)}"`;
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  if (from > whole.length) return void response.writeHead(416, { 'Content-Range': `bytes */${whole.length}` }).end();
  const isPart = range !== undefined && (ifRange === undefined || ifRange === etag);
  const bytes = isPart ? whole.subarray(from) : whole;
  const contentRange = { 'Content-Range': `bytes ${from}-${whole.length - 1}/${whole.length}` };
  response.writeHead(isPart ? 206 : 200, { 'Content-Length': bytes.length, ETag: etag, ...(isPart && contentRange) });
  for (let at = 0; pace && at < bytes.length && !response.destroyed; at += pace.bytes) {
    response.write(bytes.subarray(at, at + pace.bytes));
    await sleep(pace.ms);
  }
  response.end(pace ? undefined : bytes);
}

/** Sends only this many of the requested bytes, and breaks the connection. */
export const cutAfter =
  (bytesOf: (length: number) => number): Fault =>
  async ({ range, ifRange }, response, whole) => {
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const etag = `"${sha256Of(whole).slice(0, 16)}"`;
    const isPart = range !== undefined && (ifRange === undefined || ifRange === etag);
    const bytes = isPart ? whole.subarray(from) : whole;
    const contentRange = { 'Content-Range': `bytes ${from}-${whole.length - 1}/${whole.length}` };
    response.writeHead(isPart ? 206 : 200, { 'Content-Length': bytes.length, ETag: etag, ...(isPart && contentRange) });
    await new Promise<void>((resolve) => response.write(bytes.subarray(0, bytesOf(bytes.length)), () => resolve()));
    response.destroy();
    return true;
  };
