// Sends HTTP/1.1 requests with the lowest possible cost, so that the server is measured: connections are kept alive,
// each connection sends one request after the other, and only the end of a response is detected.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface HttpRequest {
  method: 'GET' | 'POST';
  path: string;
  apiKey?: string | undefined;
  body?: string;
}

export interface HttpLoad {
  port: number;
  request: HttpRequest;
  connections: number;
  count: number;
}

/** Sends `count` requests. Fails if a status is not 200. */
export async function loadHttp({ port, request, connections, count }: HttpLoad): Promise<void> {
  const bytes = toBytes(request);
  let left = count;
  const run = async () => {
    const socket = await open(port);
    while (left-- > 0) await fetchOn(socket, bytes);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, run));
}

/** Times to the first byte of the body, on an open connection. */
export async function firstByteMs(port: number, request: HttpRequest, count: number): Promise<number[]> {
  const socket = await open(port);
  const bytes = toBytes(request);
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const start = performance.now();
    times.push((await fetchOn(socket, bytes)) - start);
  }
  socket.destroy();
  return times;
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  return socket;
}

function toBytes({ method, path, apiKey, body = '' }: HttpRequest): Buffer {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost'];
  if (apiKey) head.push(`X-API-Key: ${apiKey}`);
  if (body) head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Resolves when the body is complete, with the time until its first byte. */
function fetchOn(socket: Socket, request: Uint8Array): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let head = '';
  let firstAt = 0;
  /** Number of bytes still to come; undefined if an empty chunk marks the end. */
  let left: number | undefined;
  let tail = '';
  const take = (bytes: Buffer) => {
    if (firstAt === 0) {
      head += bytes.toString('latin1');
      const end = head.indexOf('\r\n\r\n') + 4;
      if (end === 3 || end === head.length) return;
      firstAt = performance.now();
      if (!head.startsWith('HTTP/1.1 200')) return settle(new Error(head));
      const length = /^content-length: (\d+)/im.exec(head.slice(0, end))?.[1];
      left = length === undefined ? undefined : Number(length) + end - head.length;
      tail = head.slice(-5);
    } else if (left !== undefined) left -= bytes.length;
    else tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - 5))).slice(-5);
    if (left === 0 || (left === undefined && tail === '0\r\n\r\n')) settle();
  };
  const settle = (error?: Error) => {
    socket.off('data', take).off('error', settle);
    if (error) reject(error);
    else resolve(firstAt);
  };
  socket.on('data', take).on('error', settle);
  socket.write(request);
  return promise;
}
