// Tickets: a browser's EventSource cannot send an API key, so a page first gets a URL that starts its stream, once, within a
// minute, at any replica. The same URL with a Last-Event-ID resumes the stream, as EventSource does by itself when a
// connection breaks.
import { Failure } from '../errors.ts';
import { createId } from '../id.ts';
import type { Seal } from '../secrets/seal.ts';
import type { SpeechRequest } from '../speech/request.ts';
import type { TicketRows } from '../store/ticket-rows.ts';
import { ticketCharsMax, ticketCharsMin, ticketCharsPerKeyMax, ticketMs } from './limits.ts';

export interface Ticket {
  ticketId: string;
  expiresAtMs: number;
  request: SpeechRequest;
  /** Id of the key that the ticket was issued to; the key is verified again when the ticket is used. */
  keyId: string;
}

export interface Tickets {
  issue(request: SpeechRequest, keyId: string): Promise<Pick<Ticket, 'ticketId' | 'expiresAtMs'>>;
  /** The ticket, which is then used; undefined if it is unknown, used or expired. */
  use(ticketId: string): Promise<Ticket | undefined>;
}

const ticketIdBits = 128;
export const isTicketId = (id: string): boolean => /^tkt_[0-9A-Z]{36}$/.test(id);
const limits = { ofKey: ticketCharsPerKeyMax, ofAll: ticketCharsMax };

/** A ticket for a single letter takes memory too. */
const charsHeldBy = ({ chars }: SpeechRequest) => Math.max(chars, ticketCharsMin);

export const createTickets = ({ rows, seal }: { rows: TicketRows; seal: Seal }): Tickets => ({
  async issue(request, keyId) {
    const ticketId = createId('tkt', ticketIdBits);
    const nowMs = Date.now();
    const expiresAtMs = nowMs + ticketMs;
    const facts = { request, ticketId };
    const sealed = await seal.close('ticket', facts, ticketMs / 1000);
    const ticket = { ticketId, keyId, chars: charsHeldBy(request), sealed, expiresAtMs };
    const outcome = await rows.add(ticket, limits, nowMs);
    const retryAfterSeconds = ticketMs / 1000;
    if (outcome === 'key') {
      const message = 'Too many tickets of this key are unused; use them, or wait until they expire.';
      throw new Failure('rate_limit_exceeded', { message, limitReason: 'requests', retryAfterSeconds });
    }
    if (outcome === 'all') throw new Failure('overloaded', { retryAfterSeconds });
    return { ticketId, expiresAtMs };
  },
  async use(ticketId) {
    const row = isTicketId(ticketId) ? await rows.take(ticketId, Date.now()) : undefined;
    const facts = row && (await seal.open('ticket', row.sealed));
    if (facts?.ticketId !== ticketId) return undefined;
    const { keyId, expiresAtMs } = row!;
    return { request: facts.request as SpeechRequest, keyId, ticketId, expiresAtMs };
  },
});
