// Tickets: a browser's EventSource can send no API key, so a page asks for a stream beforehand and gets an address that
// begins it, once, within a minute. The same address read again with the Last-Event-ID of its stream reads on, as
// EventSource does by itself when a connection breaks; without one it begins nothing.
import { Failure } from '../errors.ts';
import { createId } from '../id.ts';
import { ticketCharsMax, ticketCharsMin, ticketCharsPerKeyMax, ticketMs } from './limits.ts';
import type { AskedSpeech } from './speech-fields.ts';

export interface Ticket {
  ticketId: string;
  expiresAtMs: number;
  asked: AskedSpeech;
  /** The key that asked; it is presented when the ticket is used, so that one revoked meanwhile begins nothing. */
  apiKey: string;
  keyId: string;
}

const ticketIdBits = 128;

/** A ticket for a single letter takes room too. */
const charsHeldBy = ({ request }: AskedSpeech) => Math.max(request.chars, ticketCharsMin);

export class Tickets {
  readonly #unused = new Map<string, Ticket>();
  readonly #charsOfKeys = new Map<string, number>();
  #chars = 0;

  issue(asked: AskedSpeech, { apiKey, keyId }: Pick<Ticket, 'apiKey' | 'keyId'>): Ticket {
    this.#expire();
    const chars = charsHeldBy(asked);
    const charsOfKey = (this.#charsOfKeys.get(keyId) ?? 0) + chars;
    const retryAfterSeconds = ticketMs / 1000;
    if (charsOfKey > ticketCharsPerKeyMax) {
      const message = 'Too many tickets of this key are unused; use them, or wait until they expire.';
      throw new Failure('rate_limit_exceeded', { message, limitReason: 'requests', retryAfterSeconds });
    }
    if (this.#chars + chars > ticketCharsMax) throw new Failure('overloaded', { retryAfterSeconds });
    const ticket = {
      ticketId: createId('tkt', ticketIdBits),
      expiresAtMs: Date.now() + ticketMs,
      // What was ignored was named when the ticket was issued.
      asked: { ...asked, ignored: [] },
      apiKey,
      keyId,
    };
    this.#unused.set(ticket.ticketId, ticket);
    this.#charsOfKeys.set(keyId, charsOfKey);
    this.#chars += chars;
    setTimeout(() => this.#expire(), ticketMs + 1).unref();
    return ticket;
  }

  /** The ticket, which is then used; undefined if it is unknown, used or expired. */
  use(ticketId: string): Ticket | undefined {
    this.#expire();
    const ticket = this.#unused.get(ticketId);
    if (ticket) this.#remove(ticket);
    return ticket;
  }

  /** They expire in the order in which they were issued. */
  #expire(): void {
    const nowMs = Date.now();
    for (const ticket of this.#unused.values()) {
      if (nowMs < ticket.expiresAtMs) return;
      this.#remove(ticket);
    }
  }

  #remove({ ticketId, keyId, asked }: Ticket): void {
    this.#unused.delete(ticketId);
    const chars = charsHeldBy(asked);
    const left = this.#charsOfKeys.get(keyId)! - chars;
    if (left > 0) this.#charsOfKeys.set(keyId, left);
    else this.#charsOfKeys.delete(keyId);
    this.#chars -= chars;
  }
}
