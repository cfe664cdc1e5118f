// Reads the complete body of a request, with limits on size and time (see request-limits.ts). The body is collected in
// one buffer, because a caller may send single bytes and parsing many chunks takes quadratic time.
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { Failure } from '../errors.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;

export interface BodyLimits {
  bytesMax: number;
  /** Bytes beyond `bytesMax` that are still accepted, such as framing. */
  slackBytes?: number;
  arrivalMs: number;
  /** Takes one of the few slots for large bodies. Returns the function that releases the slot. */
  takeSlot?: () => () => void;
}

/** Reads the body when the first chunk is requested, so the body of a rejected request is never read. */
export async function* readBody(request: NodeRequest, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const release = limits.takeSlot?.();
  try {
    yield await collectBody(request, limits);
  } finally {
    release?.();
  }
}

/** Reads the body synchronously, without a slot. Undefined if part of the body has not arrived yet. */
export function takeBody(request: IncomingMessage, { bytesMax, slackBytes = 0 }: BodyLimits): Buffer | undefined {
  if (!request.complete || request.destroyed || request.readableLength === 0) return undefined;
  const bytes: Buffer = request.read();
  if (bytes.length > bytesMax + slackBytes) throw new Failure('payload_too_large', { limit: bytesMax });
  return bytes;
}

/** Reads the body into one buffer, without a slot. */
export function collectBody(
  request: NodeRequest,
  { bytesMax, slackBytes = 0, arrivalMs }: Omit<BodyLimits, 'takeSlot'>,
): Promise<Buffer> {
  /** Most bodies arrive in one chunk, which is not copied. */
  let bytes: Buffer = nothing;
  let length = 0;
  return new Promise((resolve, reject) => {
    const settle = (failure?: Failure) => {
      clearTimeout(late);
      request.off('data', take).off('end', finish).off('close', cut).pause();
      if (failure) reject(failure);
      else resolve(bytes.subarray(0, length));
    };
    const take = (piece: Buffer) => {
      const needed = length + piece.length;
      if (needed > bytesMax + slackBytes) return settle(new Failure('payload_too_large', { limit: bytesMax }));
      if (length === 0) {
        bytes = piece;
        length = needed;
        return;
      }
      if (needed > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * bytes.length));
        bytes.copy(larger, 0, 0, length);
        bytes = larger;
      }
      piece.copy(bytes, length);
      length = needed;
    };
    // Node also emits 'end' for an HTTP/2 request that was reset by its client.
    const finish = () => (request.aborted ? cut() : settle());
    const cut = () => settle(new Failure('invalid_request', { message: 'The request body is incomplete.' }));
    const tooLate = () =>
      settle(new Failure('invalid_request', { message: `The request did not arrive within ${arrivalMs / 1000} s.` }));
    const late = setTimeout(tooLate, arrivalMs);
    if (isGone(request)) cut();
    else request.on('data', take).on('end', finish).on('close', cut);
  });
}

const nothing = Buffer.alloc(0);

/** Whether the client has disconnected, so that no more events follow. */
const isGone = (request: NodeRequest): boolean =>
  request.destroyed || ('stream' in request && request.stream.destroyed);

/** Largest number of large request bodies that are read at the same time, across all transports. */
const uploadsMax = 8;
const retryAfterSeconds = 5;

let held = 0;

/** Takes a slot, or throws `overloaded`. Returns the function that releases the slot. */
export function takeUploadSlot(): () => void {
  if (held >= uploadsMax) {
    throw new Failure('overloaded', { message: 'Too many uploads at once. Try again later.', retryAfterSeconds });
  }
  held++;
  let isHeld = true;
  return () => {
    if (isHeld) held--;
    isHeld = false;
  };
}
