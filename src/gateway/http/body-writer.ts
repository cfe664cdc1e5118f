// Sends a body piece by piece. The headers wait for the first piece, so an earlier failure has its own status; a later one
// breaks the connection, so that a clean end always means a complete body. The next piece is pulled when the last one is
// written; a client that reads nothing for too long is disconnected.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { readerStallMs } from '../../net/limits.ts';

/** Text is ASCII; writing it as Latin-1 costs a third less than as UTF-8. */
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

/** Takes the reply over from Fastify, with the headers set so far. */
function begin(reply: FastifyReply, headers: Headers): void {
  reply.hijack();
  // Fastify has the names in lower case; with another case beside them, Node would send both.
  const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const others = Object.entries(reply.getHeaders() as Headers).filter(([name]) => !own.has(name));
  reply.raw.writeHead(reply.statusCode, { ...Object.fromEntries(others), ...headers });
}

/** Resolves to true when there is room to write, to false when the client has left. */
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

/** In HTTP/1.0 only a reset shows that a body is incomplete. */
function breakOff({ raw, request }: FastifyReply): void {
  if (request.raw.httpVersionMinor === 0) raw.socket?.resetAndDestroy();
  raw.destroy();
}
