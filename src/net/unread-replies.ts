// Responses whose unread bytes are counted, per owner and in total, over HTTP/1.1 and HTTP/2. Above a limit, the oldest
// unread reply is cut: a reply of the same owner, or of the owner with the most unread bytes. A reply is also cut if its
// client reads nothing for two minutes.
import { type IncomingMessage, ServerResponse } from 'node:http';
import { constants, Http2ServerResponse } from 'node:http2';
import { readerStallMs, unreadBytesInAllMax, unreadBytesPerOwnerMax } from './request-limits.ts';
import { ownerOf } from './request-owner.ts';

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

interface Share {
  bytes: number;
  /** The bytes of each reply, and the function that stops watching it. The reply that has waited longest is first. */
  replies: Map<Reply, { bytes: number; forget(): void }>;
}

const shares = new Map<string, Share>();
let inAll = 0;

function count(reply: Reply): void {
  const owner = ownerOf(reply.req);
  const share = shares.get(owner) ?? { bytes: 0, replies: new Map() };
  shares.set(owner, share);
  const unread = share.replies.get(reply) ?? { bytes: 0, forget: watch(owner, share, reply) };
  share.replies.set(reply, unread);
  const grown = reply.writableLength - unread.bytes;
  unread.bytes += grown;
  share.bytes += grown;
  inAll += grown;
  while (share.bytes > unreadBytesPerOwnerMax) cutOldest(share);
  while (inAll > unreadBytesInAllMax)
    cutOldest(shares.values().reduce((most, each) => (each.bytes > most.bytes ? each : most)));
}

/** Counts the reply until its client has read it. Returns the function that ends this. */
function watch(owner: string, share: Share, reply: Reply): () => void {
  const { socket } = reply.req;
  const source = 'stream' in reply ? reply.stream : reply;
  const cutStalled = () => cut(reply);
  const forget = () => {
    for (const event of ['drain', 'finish', 'close']) source.off(event, forget);
    if ('stream' in reply) reply.stream.setTimeout(0, cutStalled);
    // After the last reply, the timeout is that of an idle connection.
    else if (socket.timeout === readerStallMs) socket.setTimeout(0);
    const bytes = share.replies.get(reply)?.bytes ?? 0;
    share.bytes -= bytes;
    inAll -= bytes;
    share.replies.delete(reply);
    if (share.replies.size === 0) shares.delete(owner);
  };
  for (const event of ['drain', 'finish', 'close']) source.on(event, forget);
  // These timeouts begin again whenever the client reads something. An HTTP/1.1 socket is then closed by its server.
  if ('stream' in reply) reply.stream.setTimeout(readerStallMs, cutStalled);
  else socket.setTimeout(readerStallMs);
  return forget;
}

function cutOldest({ replies }: Share): void {
  const [[reply, { forget }]] = replies as unknown as [[Reply, { forget(): void }]];
  forget();
  cut(reply);
}

function cut(reply: Reply): void {
  if ('stream' in reply) reply.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else reply.req.socket.destroy();
}
