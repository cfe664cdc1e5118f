// Sends a body piece by piece. The headers wait for the first piece, so an earlier failure has its own status; a later one
// breaks the connection, so that a clean end always means a complete body. The next piece is pulled when the last one is
// written; a client that reads nothing for too long is disconnected.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { readerStallMs } from '../net/request-limits.ts';

/** Text is ASCII; writing it as Latin-1 costs a third less than as UTF-8. */
type Piece = Uint8Array | string;
/** What is in memory comes without waiting for it. */
type Pieces = AsyncIterable<Piece> | Iterable<Piece>;
type Headers = Readonly<Record<string, string | number>>;

/** Resolves when all is sent, the body is broken off, or the client has left. */
export async function sendPieces(reply: FastifyReply, headers: Headers, source: Pieces): Promise<void> {
  const pieces = iterate(source);
  const isHeld = !(Symbol.asyncIterator in source);
  const { raw } = reply;
  try {
    let piece = await pieces.next();
    begin(reply, headers);
    while (!piece.done) {
      if (raw.closed) return;
      // What is in memory is known to be the last before it is written: a short body goes out in one write.
      const { value } = piece;
      if (isHeld) piece = await pieces.next();
      if (isHeld && piece.done) return await endWith(raw, value);
      if (!raw.write(value, 'latin1') && !(await drained(raw))) return;
      if (!isHeld) piece = await pieces.next();
    }
    raw.end();
  } catch (error) {
    if (!reply.sent) throw error;
    if (!raw.closed) reply.request.fault = error;
    breakOff(reply);
  } finally {
    Promise.resolve(pieces.return?.()).catch(() => {});
  }
}

const iterate = (source: Pieces): AsyncIterator<Piece> | Iterator<Piece> =>
  Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();

/** Takes the reply over from Fastify, with the headers set so far. */
function begin(reply: FastifyReply, headers: Headers): void {
  reply.hijack();
  const others = reply.getHeaders() as Headers;
  for (const name in headers)
    if (lowerCaseOf(name) in others) delete (others as Record<string, unknown>)[lowerCaseOf(name)];
  const lines: (string | number)[] = [];
  for (const name in others) lines.push(name, others[name]!);
  for (const name in headers) lines.push(name, headers[name]!);
  reply.raw.writeHead(reply.statusCode, lines as string[]);
}

/** Of the few names that there are. */
const lowerCase = new Map<string, string>();

/** Fastify has the names in lower case; with another case beside them, Node would send both. */
function lowerCaseOf(name: string): string {
  const known = lowerCase.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  lowerCase.set(name, lower);
  return lower;
}

/** Ends the body with its last piece, and waits until it is sent or the client has left. */
async function endWith(raw: ServerResponse, piece: Piece): Promise<void> {
  raw.end(piece, 'latin1');
  // Most of what is short is with the kernel by then.
  if (raw.socket?.writableLength === 0 || raw.writableFinished) return;
  await drained(raw, 'finish');
}

/** Resolves to true when there is room to write, or all is sent; to false when the client has left. */
function drained(raw: ServerResponse, event: 'drain' | 'finish' = 'drain'): Promise<boolean> {
  if (raw.closed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (hasRoom: boolean) => {
      clearTimeout(stalled);
      raw.off(event, goOn).off('close', leave);
      resolve(hasRoom);
    };
    const goOn = () => settle(true);
    const leave = () => settle(false);
    const stalled = setTimeout(() => raw.destroy(), readerStallMs);
    raw.on(event, goOn).on('close', leave);
  });
}

/** In HTTP/1.0 only a reset shows that a body is incomplete. */
function breakOff({ raw, request }: FastifyReply): void {
  if (request.raw.httpVersionMinor === 0) raw.socket?.resetAndDestroy();
  raw.destroy();
}
