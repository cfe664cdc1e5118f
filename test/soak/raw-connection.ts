// Sends raw bytes on a connection, and HTTP/2 frames (RFC 9113 section 4.1) that a correct client would not send.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Raw {
  socket: Socket;
  /** The received bytes, or only the last of them. */
  answered(): string;
  isClosed(): boolean;
  /** Writes as fast as possible; returns false when the peer no longer reads. */
  write(bytes: Uint8Array | string): Promise<boolean>;
}

export function openRaw(port: number, localAddress?: string): Raw {
  const socket = connect({ port, host: '127.0.0.1', ...(localAddress && { localAddress }) });
  let [answered, isClosed] = ['', false];
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
  });
  socket.on('data', (bytes) => {
    answered = (answered + bytes.toString('latin1')).slice(-4096);
  });
  const closed = once(socket, 'close').catch(() => {});
  return {
    socket,
    answered: () => answered,
    isClosed: () => isClosed,
    async write(bytes) {
      if (isClosed || !socket.writable) return false;
      if (!socket.write(bytes)) await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
      return !isClosed;
    },
  };
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

export const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]);

/** Literal headers: https://www.rfc-editor.org/rfc/rfc7541#section-6.2.2 */
export function hpack(headers: Readonly<Record<string, string>>): Buffer {
  const text = (word: string) => Buffer.concat([Buffer.from([word.length]), Buffer.from(word)]);
  return Buffer.concat(Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}
