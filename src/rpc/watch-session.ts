// Closes an HTTP/2 connection that does not start the protocol, or whose peer no longer answers pings. A proxy that waits for
// a slow reader may read nothing meanwhile, pings included: while audio waits to be written, the peer has as long as readers
// of other protocols have.
import type { ServerHttp2Session } from 'node:http2';
import { handshakeMs, readerStallMs } from '../net/limits.ts';
import { pingAnswerMs, pingEveryMs } from './limits.ts';

export interface WatchOptions {
  /** Whether audio waits until the peer reads. */
  isStalled(): boolean;
  pingEveryMs?: number;
  pingAnswerMs?: number;
  readerStallMs?: number;
}

export function watchSession(session: ServerHttp2Session, options: WatchOptions): void {
  const limits = { pingEveryMs, pingAnswerMs, readerStallMs, ...options };
  const silent = setTimeout(() => session.destroy(), handshakeMs);
  let next: NodeJS.Timeout;
  const later = (work: () => void, ms: number) => {
    next = setTimeout(work, ms);
  };
  const ping = () => {
    if (session.destroyed) return;
    let waitedMs = 0;
    const give = () => {
      waitedMs += limits.pingAnswerMs;
      if (limits.isStalled() && waitedMs < limits.readerStallMs) later(give, limits.pingAnswerMs);
      else session.destroy();
    };
    later(give, limits.pingAnswerMs);
    session.ping((error) => {
      clearTimeout(next);
      if (!error) later(ping, limits.pingEveryMs);
    });
  };
  later(ping, limits.pingEveryMs);
  session.once('remoteSettings', () => clearTimeout(silent));
  session.once('close', () => {
    clearTimeout(silent);
    clearTimeout(next);
  });
}
