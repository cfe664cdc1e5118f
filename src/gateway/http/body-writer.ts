// Sends a body made piece by piece, and keeps the commit rule: the head waits for the first piece, so whatever fails
// before it is an ordinary failure; what fails later breaks the connection, so that a clean end always means all of it.
// The next piece is asked for when the last one is taken; a reader who takes nothing for too long is given up.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { readerStallMs } from '../../net/limits.ts';

/** Text is ASCII: what is written as Latin-1 costs a third less than UTF-8. */
export type Piece = Uint8Array | string;
type Headers = Readonly<Record<string, string | number>>;

/** Resolves when all is sent, the body is broken off, or the client has left. */
export async function sendPieces(reply: FastifyReply, headers: Headers, source: AsyncIterable<Piece>): Promise<void> {
  const pieces = source[Symbol.asyncIterator]();
  const { raw } = reply;
  try {
    let piece = await pieces.next();
    begin(reply, headers);
    for (; !piece.done; piece = await pieces.next()) {
      if (raw.closed) return;
      if (!raw.write(piece.value, 'latin1') && !(await drained(raw))) return;
    }
    raw.end();
  } catch (error) {
    if (!reply.sent) throw error;
    if (!raw.closed) reply.request.fault = error;
    breakOff(reply);
  } finally {
    pieces.return?.()?.catch(() => {});
  }
}

/** From here on the reply is ours; Fastify's headers go along. */
function begin(reply: FastifyReply, headers: Headers): void {
  reply.hijack();
  reply.raw.writeHead(reply.statusCode, { ...(reply.getHeaders() as Headers), ...headers });
}

/** Whether there is room again; if not, nobody is there to write to. */
function drained(raw: ServerResponse): Promise<boolean> {
  if (raw.closed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (hasRoom: boolean) => {
      clearTimeout(stalled);
      raw.off('drain', goOn).off('close', leave);
      resolve(hasRoom);
    };
    const goOn = () => settle(true);
    const leave = () => settle(false);
    const stalled = setTimeout(() => raw.destroy(), readerStallMs);
    raw.on('drain', goOn).on('close', leave);
  });
}

/** HTTP/1.0 knows no other sign of a body that is not whole than a reset. */
function breakOff({ raw, request }: FastifyReply): void {
  if (request.raw.httpVersionMinor === 0) raw.socket?.resetAndDestroy();
  raw.destroy();
}
