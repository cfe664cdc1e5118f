// Reads the complete body of a request, with limits on size, time and pace (see request-limits.ts). The body is
// collected in one buffer, because a caller may send single bytes and parsing many chunks takes quadratic time. A body
// above 64 KiB needs one of the slots that all transports share. A slot belongs to the owner of the request, as do the
// unread bytes of its reply.
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { Failure } from '../../platform/errors.ts';
import { networkOf } from '../../platform/net/client-addresses.ts';
import {
  bodiesWaitingMax,
  bodyPaceBytes,
  bodyPaceMs,
  bodySlotsMax,
  slotlessBytesMax,
} from '../../platform/net/request-limits.ts';
import { SlotQueue } from '../../platform/runtime/slot-queue.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;

export interface BodyLimits {
  bytesMax: number;
  /** Bytes beyond `bytesMax` that are still accepted, such as framing. */
  slackBytes?: number;
  arrivalMs: number;
}

/** Reads the body and parses it. A large body holds a slot until it is parsed. */
export async function parseBody<T>(
  request: NodeRequest,
  limits: BodyLimits,
  parse: (bytes: Buffer) => T | Promise<T>,
): Promise<T> {
  const { bytes, slot } = await collectBody(request, limits);
  try {
    return await parse(bytes);
  } finally {
    slot?.end();
  }
}

/**
 * Reads the body when the first chunk is requested, so the body of a rejected request is never read. The slot is held
 * until the caller has parsed the body and requests the next chunk.
 */
export async function* readBody(request: NodeRequest, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const { bytes, slot } = await collectBody(request, limits);
  try {
    yield bytes;
  } finally {
    slot?.end();
  }
}

/** Reads the body synchronously. Undefined if part of the body has not arrived yet. */
export function takeBody(request: IncomingMessage, { bytesMax }: BodyLimits): Buffer | undefined {
  if (!request.complete || request.destroyed || request.readableLength === 0) return undefined;
  const bytes: Buffer = request.read();
  if (bytes.length > bytesMax) throw new Failure('payload_too_large', { limit: bytesMax });
  return bytes;
}

/** Reads the body into one buffer. */
function collectBody(
  request: NodeRequest,
  { bytesMax, slackBytes = 0, arrivalMs }: BodyLimits,
): Promise<{ bytes: Buffer; slot: BodySlot | undefined }> {
  /** Most bodies arrive in one chunk, which is not copied. */
  let bytes: Buffer = nothing;
  let length = 0;
  let slot: BodySlot | undefined;
  let isSettled = false;
  return new Promise((resolve, reject) => {
    const settle = (failure?: Failure) => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(late);
      clearInterval(pace);
      request.off('data', take).off('end', finish).off('close', cut).pause();
      if (failure) slot?.end();
      if (failure) reject(failure);
      else resolve({ bytes: bytes.subarray(0, length), slot });
    };
    const take = (piece: Buffer) => {
      const needed = length + piece.length;
      if (needed > bytesMax + slackBytes) return settle(new Failure('payload_too_large', { limit: bytesMax }));
      if (needed > slotlessBytesMax) slot ??= takeSlot(request, settle);
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
      settle(new Failure('request_timeout', { message: `The request did not arrive within ${arrivalMs / 1000} s.` }));
    const late = setTimeout(tooLate, arrivalMs);
    let paced = 0;
    const checkPace = () => {
      if (slot?.isWaiting !== true && length - paced < bodyPaceBytes) settle(new Failure('request_timeout'));
      paced = length;
    };
    // Bytes that arrived while the event loop was busy are read before the check.
    const pace = setInterval(() => setImmediate(checkPace), bodyPaceMs);
    if (isGone(request)) cut();
    else request.on('data', take).on('end', finish).on('close', cut);
  });
}

const nothing = Buffer.alloc(0);

/** Whether the client has disconnected, so that no more events follow. */
const isGone = (request: NodeRequest): boolean =>
  request.destroyed || ('stream' in request && request.stream.destroyed);

const slots = new SlotQueue({
  slotsMax: bodySlotsMax,
  waitingMax: bodiesWaitingMax,
  isShared: true,
  refusal: () =>
    new Failure('overloaded', { message: 'Too many uploads at once. Try again later.', retryAfterSeconds }),
});
const retryAfterSeconds = 5;

interface BodySlot {
  isWaiting: boolean;
  /** Releases the slot, or ends the wait for it. */
  end(): void;
}

/** Pauses the request until it has a slot. */
function takeSlot(request: NodeRequest, fail: (failure: Failure) => void): BodySlot {
  const ended = new AbortController();
  const slot: BodySlot = { isWaiting: true, end: () => ended.abort() };
  request.pause();
  slots.take({ owner: ownerOf(request), signal: ended.signal }).then((release) => {
    if (ended.signal.aborted) return release();
    Object.assign(slot, { isWaiting: false, end: release });
    request.resume();
  }, fail);
  return slot;
}

/** The owner of a request: the account of its key, or the client's network until the key has been verified. */
const owners = new WeakMap<object, string>();

/** Both HTTP versions have one object per request, which the response also refers to. */
export const setOwner = (request: object | undefined, owner: string): void => {
  if (request) owners.set(request, owner);
};

export const setAddress = (request: object, address: string): void => setOwner(request, networkOf(address));

export const ownerOf = (request: object): string => owners.get(request) ?? '';
