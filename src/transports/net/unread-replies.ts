// Responses whose unread bytes are counted, per owner and in total, over HTTP/1.1 and HTTP/2; WebSockets count their
// own. Above a limit, the oldest unread reply is cut: a reply of the same owner, or of the owner with the most unread
// bytes. A reply is also cut if its client reads nothing for two minutes.
import { type IncomingMessage, ServerResponse } from 'node:http';
import { constants, Http2ServerResponse } from 'node:http2';
import { readerStallMs, unreadBytesInAllMax, unreadBytesPerOwnerMax } from '../../platform/net/request-limits.ts';
import { ownerOf } from './request-body.ts';

type Reply = ServerResponse | Http2ServerResponse;
type WriteEnd = (error?: Error | null) => void;

export class HttpResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  override write(bytes: unknown, encoding?: unknown, end?: unknown): boolean {
    const isTaken = this.#write(bytes, encoding, end);
    if (!isTaken) count(this);
    return isTaken;
  }

  #write(bytes: unknown, encoding: unknown, end: unknown): boolean {
    if (typeof encoding === 'function') return super.write(bytes, toReset(encoding as WriteEnd));
    if (end === undefined) return super.write(bytes, encoding as BufferEncoding);
    return super.write(bytes, encoding as BufferEncoding, toReset(end as WriteEnd));
  }

  override end(body?: unknown, ...rest: never[]): this {
    // The string of a large body is freed, and its bytes are counted instead of its characters.
    const isLarge = typeof body === 'string' && body.length > this.writableHighWaterMark;
    super.end(isLarge ? Buffer.from(body, rest[0]) : body, ...rest);
    if (this.writableLength > 0) count(this);
    return this;
  }
}

const toReset =
  (end: WriteEnd): WriteEnd =>
  (error) =>
    end(error && Object.assign(new Error('the client has left', { cause: error }), { code: 'ECONNRESET' }));

export class Http2Response extends Http2ServerResponse {
  override write(bytes: never, ...rest: never[]): boolean {
    const isTaken = super.write(bytes, ...rest);
    if (!isTaken) count(this);
    return isTaken;
  }

  override end(...rest: never[]): this {
    super.end(...rest);
    if (this.writableLength > 0) count(this);
    return this;
  }
}

/** A reply or WebSocket whose client has not read everything. */
interface Unread {
  bytes: number;
  cut(): void;
}

interface Share {
  bytes: number;
  /** The one that has waited longest is first. */
  unread: Map<object, Unread>;
}

const shares = new Map<string, Share>();
let inAll = 0;

function count(reply: Reply): void {
  const owner = ownerOf(reply.req);
  if (!shares.get(owner)?.unread.has(reply)) watch(owner, reply);
  countUnread(owner, reply, reply.writableLength, () => cut(reply));
}

/** Sets the unread bytes of a reply or WebSocket, and cuts the oldest ones above a limit. */
export function countUnread(owner: string, source: object, bytes: number, cut: () => void): void {
  const share = shares.get(owner) ?? { bytes: 0, unread: new Map() };
  const before = share.unread.get(source)?.bytes ?? 0;
  share.bytes += bytes - before;
  inAll += bytes - before;
  if (bytes === 0) share.unread.delete(source);
  else if (before === 0) share.unread.set(source, { bytes, cut });
  else share.unread.get(source)!.bytes = bytes;
  if (share.unread.size === 0) shares.delete(owner);
  else shares.set(owner, share);
  while (share.bytes > unreadBytesPerOwnerMax) cutOldest(owner, share);
  while (inAll > unreadBytesInAllMax)
    cutOldest(...shares.entries().reduce((most, each) => (each[1].bytes > most[1].bytes ? each : most)));
}

/** Counts the reply until its client has read it. */
function watch(owner: string, reply: Reply): void {
  const { socket } = reply.req;
  const source = 'stream' in reply ? reply.stream : reply;
  const cutStalled = () => cut(reply);
  const forget = () => {
    for (const event of ['drain', 'finish', 'close']) source.off(event, forget);
    if ('stream' in reply) reply.stream.setTimeout(0, cutStalled);
    // After the last reply, the timeout is that of an idle connection.
    else if (socket.timeout === readerStallMs) socket.setTimeout(0);
    countUnread(owner, reply, 0, cutStalled);
  };
  for (const event of ['drain', 'finish', 'close']) source.on(event, forget);
  // These timeouts begin again whenever the client reads something. An HTTP/1.1 socket is then closed by its server.
  if ('stream' in reply) reply.stream.setTimeout(readerStallMs, cutStalled);
  else socket.setTimeout(readerStallMs);
}

function cutOldest(owner: string, { unread }: Share): void {
  const [[source, { cut }]] = unread as unknown as [[object, Unread]];
  countUnread(owner, source, 0, cut);
  cut();
}

function cut(reply: Reply): void {
  if ('stream' in reply) reply.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else reply.req.socket.destroy();
}
