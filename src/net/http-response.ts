// Node's HTTP/1.1 response, with failed writes reported as connection resets. The plugin connect-fastify prints whatever
// else goes wrong while it writes an answer; clients who leave are the usual case.
import { ServerResponse } from 'node:http';

type WriteEnd = (error?: Error | null) => void;

export class HttpResponse extends ServerResponse {
  override write(bytes: unknown, ...rest: unknown[]): boolean {
    const end = rest.at(-1);
    if (typeof end === 'function') rest[rest.length - 1] = toReset(end as WriteEnd);
    return super.write(bytes, ...(rest as [BufferEncoding, WriteEnd]));
  }
}

const toReset =
  (end: WriteEnd): WriteEnd =>
  (error) =>
    end(error && Object.assign(new Error('the client has left', { cause: error }), { code: 'ECONNRESET' }));
