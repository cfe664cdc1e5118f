// Events of the Wyoming protocol as bytes: a line of JSON, followed by further data (a JSON object that overrides the
// data in the line) and a payload. The line states the lengths of both:
//     {"type":"synthesize","data":{...},"data_length":N,"payload_length":M}\n<N bytes><M bytes>
import { type Fields, isObject } from '../../../contract.ts';
import { Failure } from '../../../platform/errors.ts';

/** An event without its payload, which no supported event uses. */
export interface WyomingEvent {
  type: string;
  data: Fields;
}

interface Header extends WyomingEvent {
  dataBytes: number;
  payloadBytes: number;
}

const newline = 0x0a;
const utf8 = new TextDecoder('utf-8', { fatal: true });

export class FrameReader {
  #held = Buffer.alloc(1024);
  #heldBytes = 0;
  /** Header of the event whose data or payload is incomplete. */
  #header: Header | undefined;

  /** Yields the events that these bytes complete. Throws a Failure if they are malformed. */
  *push(bytes: Buffer): Generator<WyomingEvent> {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.#header) {
        const { dataBytes, payloadBytes } = this.#header;
        const missing = dataBytes + payloadBytes - this.#heldBytes;
        this.#hold(rest.subarray(0, missing));
        if (rest.length < missing) return;
        rest = rest.subarray(missing);
        yield this.#complete(this.#header);
      } else {
        const end = rest.indexOf(newline);
        const line = end < 0 ? rest : rest.subarray(0, end);
        checkSize('line', this.#heldBytes + line.length, lineBytesMax);
        this.#hold(line);
        if (end < 0) return;
        rest = rest.subarray(end + 1);
        const header = toHeader(this.#take());
        if (header.dataBytes + header.payloadBytes === 0) yield { type: header.type, data: header.data };
        else this.#header = header;
      }
    }
  }

  #complete({ type, data, dataBytes }: Header): WyomingEvent {
    this.#header = undefined;
    const held = this.#take();
    return { type, data: dataBytes === 0 ? data : { ...data, ...toObject(held.subarray(0, dataBytes), 'data') } };
  }

  /** Doubles the buffer, so that single bytes are not copied repeatedly. */
  #hold(bytes: Buffer): void {
    const needed = this.#heldBytes + bytes.length;
    if (needed > this.#held.length) {
      const larger = Buffer.alloc(Math.max(needed, 2 * this.#held.length));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    bytes.copy(this.#held, this.#heldBytes);
    this.#heldBytes = needed;
  }

  #take(): Buffer {
    const taken = this.#held.subarray(0, this.#heldBytes);
    this.#heldBytes = 0;
    return taken;
  }
}

function toHeader(line: Buffer): Header {
  const { type, data, data_length: dataLength, payload_length: payloadLength } = toObject(line, 'line');
  if (typeof type !== 'string') throw invalid('The type of an event must be a string.');
  return {
    type,
    data: isObject(data) ? data : {},
    dataBytes: toSize('data', dataLength, dataBytesMax),
    payloadBytes: toSize('payload', payloadLength, payloadBytesMax),
  };
}

function toObject(bytes: Buffer, what: string): Fields {
  try {
    const given: unknown = JSON.parse(utf8.decode(bytes));
    if (isObject(given)) return given;
  } catch (cause) {
    throw new Failure('invalid_request', { message: `The ${what} of an event is not JSON.` }, cause);
  }
  throw invalid(`The ${what} of an event must be a JSON object.`);
}

function toSize(what: string, given: unknown = 0, bytesMax: number): number {
  const size = given ?? 0;
  if (!Number.isSafeInteger(size) || Number(size) < 0)
    throw invalid(`${what}_length must be a whole number, 0 or more.`);
  checkSize(what, Number(size), bytesMax);
  return Number(size);
}

function checkSize(what: string, bytes: number, bytesMax: number): void {
  if (bytes <= bytesMax) return;
  const message = `The ${what} of an event is longer than ${bytesMax} bytes.`;
  throw new Failure('payload_too_large', { message, limit: bytesMax, actual: bytes });
}

const invalid = (message: string) => new Failure('invalid_request', { message });

/** The bytes of an event. Clients read lines of at most 64 KiB, so the data follows the line. */
export function toFrame(type: string, data?: object, payload?: Uint8Array): Buffer {
  const dataBytes = Buffer.from(data ? JSON.stringify(data) : '');
  const sizes = {
    ...(dataBytes.length > 0 && { data_length: dataBytes.length }),
    ...(payload && { payload_length: payload.length }),
  };
  const line = Buffer.from(`${JSON.stringify({ type, ...sizes })}\n`);
  return Buffer.concat([line, dataBytes, payload ?? new Uint8Array()]);
}

/** Limits on the parts of an event: the first line, the data and the payload. */
const lineBytesMax = 64 * 1024;
const dataBytesMax = 256 * 1024;
const payloadBytesMax = 64 * 1024;
export const wyomingConnectionsMax = 256;
/** How long a connection may be silent while nothing is spoken. */
export const wyomingIdleMs = 10 * 60_000;
