// Sends a body piece by piece. Headers are sent with the first piece, so that an earlier failure still gets its own
// status; a later failure breaks the connection.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

/** Strings are ASCII: they are written as Latin-1, which costs a third less than UTF-8. */
type Piece = Uint8Array | string;
/** Pieces that are in memory come from a synchronous iterable. */
type Pieces = AsyncIterable<Piece> | Iterable<Piece>;
type Headers = Readonly<Record<string, string | number>>;

/** Resolves when the body has been sent or aborted, or when the client has disconnected. */
export async function sendPieces(reply: FastifyReply, headers: Headers, source: Pieces): Promise<void> {
  const pieces = iterate(source);
  const isHeld = !(Symbol.asyncIterator in source);
  const { raw } = reply;
  try {
    let piece = await pieces.next();
    begin(reply, headers);
    while (!piece.done) {
      if (raw.closed) return;
      // If pieces are in memory, the next one is read before a piece is written, so that a short body is sent in one
      // write.
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

/** Cache of header names in lower case. */
const lowerCase = new Map<string, string>();

/** Fastify stores header names in lower case. Node would send a second header for a name in a different case. */
function lowerCaseOf(name: string): string {
  const known = lowerCase.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  lowerCase.set(name, lower);
  return lower;
}

/** Sends the last piece, and waits until it has been sent or the client has disconnected. */
async function endWith(raw: ServerResponse, piece: Piece): Promise<void> {
  raw.end(piece, 'latin1');
  // The kernel has usually accepted a short body by now.
  if (raw.socket?.writableLength === 0 || raw.writableFinished) return;
  await drained(raw, 'finish');
}

/**
 * Resolves to true when the socket accepts more data (or, for 'finish', all is sent), and to false when the client has
 * disconnected.
 */
function drained(raw: ServerResponse, event: 'drain' | 'finish' = 'drain'): Promise<boolean> {
  if (raw.closed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (hasRoom: boolean) => {
      raw.off(event, goOn).off('close', leave);
      resolve(hasRoom);
    };
    const goOn = () => settle(true);
    const leave = () => settle(false);
    raw.on(event, goOn).on('close', leave);
  });
}

/** In HTTP/1.0, only a reset shows the client that a body is incomplete. */
function breakOff({ raw, request }: FastifyReply): void {
  if (request.raw.httpVersionMinor === 0) raw.socket?.resetAndDestroy();
  raw.destroy();
}
