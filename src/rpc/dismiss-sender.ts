// Ends the stream of a client that still sends when its call has been answered. What it sends is dropped for a moment and
// the stream is reset then: a stream that nobody reads is never closed and counts against the limit of its connection, and
// a reset at once costs Node's clients what they had still to send, and proxies the status.
import { constants, type ServerHttp2Stream } from 'node:http2';
import { dropMs } from './limits.ts';

export function dismissSender(stream: ServerHttp2Stream): void {
  stream.removeAllListeners('data').resume();
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), dropMs).unref();
  stream.once('close', () => clearTimeout(timer));
}
