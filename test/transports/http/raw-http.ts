// Sends exactly the given bytes over HTTP/1.1, and shows how a connection was closed.
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { TestGateway } from './open-gateway.ts';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  /** The bytes after the headers, unchanged, including any chunked encoding. */
  body: Buffer;
}

export interface RawConnection {
  socket: Socket;
  send(text: string | Uint8Array): Promise<void>;
  /** The first answer so far, once its headers have arrived. */
  head(): Promise<RawAnswer>;
  /** All bytes until the connection was closed in any way. */
  end(): Promise<Buffer>;
}

export function connectRaw({ gateway }: Pick<TestGateway, 'gateway'>): RawConnection {
  const socket = connect(gateway.port, '127.0.0.1');
  const pieces: Buffer[] = [];
  let isOver = false;
  let notify = () => {};
  socket.on('data', (piece) => {
    pieces.push(piece as Buffer);
    notify();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isOver = true;
    notify();
  });
  onTestFinished(() => void socket.destroy());

  const until = async (isEnough: () => boolean) => {
    while (!isEnough() && !isOver) await new Promise<void>((resolve) => (notify = resolve));
  };
  const all = () => Buffer.concat(pieces);
  return {
    socket,
    send: (text) => new Promise((resolve) => socket.write(text, () => resolve())),
    async head() {
      await until(() => all().includes('\r\n\r\n'));
      return toAnswer(all());
    },
    async end() {
      await until(() => false);
      return all();
    },
  };
}

export function toAnswer(bytes: Buffer): RawAnswer {
  const at = bytes.indexOf('\r\n\r\n');
  if (at < 0) throw new Error(`no answer, but ${bytes.length} bytes: ${bytes.subarray(0, 200)}`);
  const [first, ...lines] = bytes.subarray(0, at).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.split(':', 1)[0]!.toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(first!.split(' ')[1]), headers, body: bytes.subarray(at + 4) };
}

/** The text of a request with a key and a JSON body. */
export function toRequest(
  { key }: Pick<TestGateway, 'key'>,
  path: string,
  body: object,
  headers: readonly string[] = [],
): string {
  const json = JSON.stringify(body);
  return [
    `POST ${path} HTTP/1.1`,
    'Host: sonant.test',
    `X-API-Key: ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(json)}`,
    ...headers,
    '',
    json,
  ].join('\r\n');
}
