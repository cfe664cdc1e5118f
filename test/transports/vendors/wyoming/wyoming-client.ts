// Opens a Wyoming listener with the whole service, and a client that sends recorded frames: exactly as the Python
// package `wyoming` 1.7 writes and reads them.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  openWyomingServer,
  type WyomingServerOptions,
} from '../../../../src/transports/vendors/wyoming/wyoming-server.ts';
import { type GatewayTestOptions, openTestGateway, type TestGateway } from '../../http/open-gateway.ts';

export interface Received {
  type: string;
  data: Record<string, unknown>;
  payload: Buffer;
}

type MakeKey = (gateway: TestGateway) => Promise<string>;

export async function openWyoming(
  options: GatewayTestOptions & Partial<Pick<WyomingServerOptions, 'allowed' | 'address'>> & { makeKey?: MakeKey } = {},
) {
  const gateway = await openTestGateway(options);
  const { api, key } = gateway;
  const refused: string[] = [];
  const faults: unknown[] = [];
  const server = await openWyomingServer({
    api,
    key: (await options.makeKey?.(gateway)) ?? key,
    address: options.address ?? { host: '127.0.0.1', port: 0 },
    allowed: options.allowed ?? [],
    onRefused: (address) => refused.push(address),
    onFault: (fault) => faults.push(fault),
  });
  const clients: Socket[] = [];
  const connectClient = () => {
    const client = openClient(server.port);
    clients.push(client.socket);
    return client;
  };
  onTestFinished(async () => {
    // Disconnects the clients, because the server waits for them before it closes.
    for (const client of clients) client.destroy();
    await server.drain(0);
  });
  return { ...gateway, server, refused, faults, connect: connectClient };
}

/** A frame as Python writes it: a space after each colon and comma, and data after the line. */
export function frameOf(type: string, data?: object): Buffer {
  const toPython = (value: object) =>
    JSON.stringify(value, undefined, 1)
      .replaceAll(/\n */g, ' ')
      .replaceAll(/([{[]) | ([}\]])/g, '$1$2');
  const body = Buffer.from(data ? toPython(data) : '');
  const length = data ? { data_length: body.length } : {};
  return Buffer.concat([Buffer.from(`${toPython({ type, version: '1.7.0', ...length })}\n`), body]);
}

export function openClient(port: number, host = '127.0.0.1') {
  const socket = connect({ port, host, allowHalfOpen: true });
  const closed = once(socket, 'close').catch(() => {});
  const events = readEvents(socket);
  return {
    socket,
    closed,
    send: (type: string, data?: object) => socket.write(frameOf(type, data)),
    /** The next event; undefined when the connection has been closed. */
    async next(): Promise<Received | undefined> {
      const { value, done } = await events.next();
      return done ? undefined : value;
    },
    /** All events up to the first of this type, or until the connection is closed. */
    async until(type: string): Promise<Received[]> {
      const seen: Received[] = [];
      for (;;) {
        const { value, done } = await events.next();
        if (done) return seen;
        seen.push(value);
        if (value.type === type) return seen;
      }
    },
  };
}

async function* readEvents(socket: AsyncIterable<Buffer>): AsyncGenerator<Received, undefined> {
  let held = Buffer.alloc(0);
  const source = socket[Symbol.asyncIterator]();
  const more = async () => {
    const { value, done } = await source.next();
    if (!done) held = Buffer.concat([held, value]);
    return !done;
  };
  for (;;) {
    while (!held.includes('\n')) if (!(await more())) return undefined;
    const end = held.indexOf('\n');
    const header = JSON.parse(held.subarray(0, end).toString());
    const { type, data_length: dataLength = 0, payload_length: payloadLength = 0 } = header;
    held = held.subarray(end + 1);
    while (held.length < dataLength + payloadLength) if (!(await more())) return undefined;
    const data = dataLength > 0 ? JSON.parse(held.subarray(0, dataLength).toString()) : {};
    const payload = Buffer.from(held.subarray(dataLength, dataLength + payloadLength));
    held = held.subarray(dataLength + payloadLength);
    yield { type, data, payload };
  }
}

export const soundOf = (events: readonly Received[]): Buffer => Buffer.concat(events.map(({ payload }) => payload));
