// A client of the Wyoming protocol (https://github.com/OHF-Voice/wyoming). An event is a JSON line, data and a payload:
//     {"type": "audio-chunk", "version": "1.9.0", "data_length": 44, "payload_length": 960}\n<data, JSON><payload>
import { once } from 'node:events';
import { connect } from 'node:net';

export interface WyomingEvent {
  type: string;
  data: Record<string, unknown>;
  payload: Buffer;
}

export async function connectWyoming(address: string) {
  const at = address.lastIndexOf(':');
  const socket = connect({ host: address.slice(0, at), port: Number(address.slice(at + 1)) });
  await once(socket, 'connect');
  return {
    send(type: string, data?: object): void {
      const body = Buffer.from(data ? JSON.stringify(data) : '');
      const header = { type, version: '1.9.0', ...(data && { data_length: body.length }) };
      socket.write(Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]));
    },
    /** Yields events until the connection ends. */
    async *events(): AsyncGenerator<WyomingEvent, void> {
      let held: Buffer = Buffer.alloc(0);
      for await (const bytes of socket) {
        held = Buffer.concat([held, bytes]);
        for (let next = readEvent(held); next; next = readEvent(held)) {
          held = next.rest;
          yield next.event;
        }
      }
    },
    close: () => socket.destroy(),
  };
}

/** Returns the first event, or undefined until all of it has arrived. */
function readEvent(bytes: Buffer): { event: WyomingEvent; rest: Buffer } | undefined {
  const lineEnd = bytes.indexOf('\n');
  if (lineEnd < 0) return undefined;
  const header = JSON.parse(bytes.subarray(0, lineEnd).toString());
  const { type, data = {}, data_length: dataLength = 0, payload_length: payloadLength = 0 } = header;
  const dataEnd = lineEnd + 1 + dataLength;
  if (bytes.length < dataEnd + payloadLength) return undefined;
  const more = dataLength > 0 ? JSON.parse(bytes.subarray(lineEnd + 1, dataEnd).toString()) : {};
  const payload = bytes.subarray(dataEnd, dataEnd + payloadLength);
  return { event: { type, data: { ...data, ...more }, payload }, rest: bytes.subarray(dataEnd + payloadLength) };
}
