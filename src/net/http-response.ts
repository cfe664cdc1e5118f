// Node's HTTP/1.1 response, with failed writes reported as connection resets. The plugin connect-fastify prints whatever
// else goes wrong while it writes an answer; clients who leave are the usual case.
import { ServerResponse } from 'node:http';

type WriteEnd = (error?: Error | null) => void;

export class HttpResponse extends ServerResponse {
  override write(bytes: unknown, encoding?: unknown, end?: unknown): boolean {
    if (typeof encoding === 'function') return super.write(bytes, toReset(encoding as WriteEnd));
    if (end === undefined) return super.write(bytes, encoding as BufferEncoding);
    return super.write(bytes, encoding as BufferEncoding, toReset(end as WriteEnd));
  }
}

const toReset =
  (end: WriteEnd): WriteEnd =>
  (error) =>
    end(error && Object.assign(new Error('the client has left', { cause: error }), { code: 'ECONNRESET' }));
