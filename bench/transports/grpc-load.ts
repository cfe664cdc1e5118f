// Calls gRPC on plain node:http2 with the lowest possible cost: one connection, several calls on it at once, and only
// the status of a response is read.
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';

export interface GrpcRequest {
  path: string;
  apiKey?: string | undefined;
  frame: Uint8Array;
}

export interface GrpcLoad {
  port: number;
  request: GrpcRequest;
  callsAtOnce: number;
  count: number;
}

/** Flow-control window of clients that read much at once. The standard 64 KiB would limit the result. */
const windowBytes = 1 << 20;

/** Makes `count` calls. Fails if a status is not OK. */
export async function loadGrpc({ port, request, callsAtOnce, count }: GrpcLoad): Promise<void> {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: windowBytes } });
  await once(session, 'connect');
  session.setLocalWindowSize(windowBytes * callsAtOnce);
  let left = count;
  const run = async () => {
    while (left-- > 0) await call(session, request);
  };
  await Promise.all(Array.from({ length: callsAtOnce }, run));
  session.close();
}

function call(session: ClientHttp2Session, { path, apiKey, frame }: GrpcRequest): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const key = apiKey === undefined ? {} : { 'x-api-key': apiKey };
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...key };
  const stream = session.request(headers);
  let status: unknown;
  stream.on('response', (answer) => (status = answer['grpc-status']));
  stream.on('trailers', (trailers) => (status = trailers['grpc-status']));
  stream.on('error', reject);
  stream.on('close', () => (status === '0' ? resolve() : reject(new Error(`${path} ended with status ${status}`))));
  stream.resume();
  stream.end(frame);
  return promise;
}
