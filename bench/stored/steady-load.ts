// Requests large responses of one known size over HTTP/1.1. It counts bytes in a reused buffer without reading them, so
// it receives far more than a JavaScript server sends.
import { once } from 'node:events';
import { connect } from 'node:net';

export interface SteadyLoad {
  port: number;
  /** The complete request, with its body. */
  request: Uint8Array;
  connections: number;
  count: number;
}

const bufferBytes = 1 << 20;

/** Returns the complete response, with its headers. */
export async function answerOf(port: number, request: Uint8Array): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  let answer = Buffer.alloc(0);
  socket.write(request);
  for await (const bytes of socket) {
    answer = Buffer.concat([answer, bytes]);
    const end = answer.indexOf('\r\n\r\n');
    const length = /^content-length: (\d+)/im.exec(answer.toString('latin1', 0, Math.max(0, end)))?.[1];
    if (end >= 0 && length !== undefined && answer.length === end + 4 + Number(length)) break;
  }
  return answer;
}

/** Sends `count` requests. Fails if a status is not 200 or a body is too long. Headers must arrive in one piece. */
export async function steadyLoad({ port, request, connections, count }: SteadyLoad): Promise<void> {
  const first = await answerOf(port, request);
  const bodyBytes = first.length - endOfHead(first);
  let left = count;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let open = connections;
  for (let n = 0; n < connections; n++) {
    /** Number of bytes still to come; undefined before the headers. */
    let missing: number | undefined;
    const next = () => {
      if (left-- <= 0) {
        socket.destroy();
        if (--open === 0) resolve();
        return;
      }
      missing = undefined;
      socket.write(request);
    };
    const take = (bytes: number) => {
      if (missing === undefined) {
        if (buffer.toString('latin1', 9, 12) !== '200') reject(new Error(buffer.toString('latin1', 0, bytes)));
        missing = bodyBytes + endOfHead(buffer.subarray(0, bytes));
      }
      missing -= bytes;
      if (missing === 0) next();
      else if (missing < 0) reject(new Error('an answer is longer than the first'));
      return true;
    };
    const buffer = Buffer.allocUnsafeSlow(bufferBytes);
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback: take } });
    socket.on('error', reject);
    void once(socket, 'connect').then(next, reject);
  }
  return promise;
}

const endOfHead = (answer: Buffer): number => answer.indexOf('\r\n\r\n') + 4;
