// Tickets: browsers cannot send an API key with EventSource or WebSocket, so a page first requests a URL. The URL
// starts one stream, on any replica, and is valid for a minute. A ticket is either for the events of one request or for
// live speech. A ticket that is used for the other kind of stream is refused and becomes invalid. A request for events
// with a Last-Event-ID resumes the stream. A token can be used until it expires: for all previews of its key, or for
// speech by the API of another vendor. It is refused as soon as its key is.
import type { Accounts, KeyCaller } from '../accounts.ts';
import { Failure } from '../platform/errors.ts';
import { requestBytesMax } from '../platform/net/request-limits.ts';
import { createId } from '../platform/runtime/id.ts';
import { createColumns, type RowStore, toNames } from '../platform/store/row-store.ts';
import { fromStoredRequest, type SpeechRequest, toStoredRequest } from '../speech.ts';
import { ticketCharsMax, ticketCharsMin, ticketCharsPerAccountMax, ticketMs } from './call-limits.ts';

/** The key that a ticket is issued to, and its account, whose unused tickets are limited. */
type TicketHolder = Pick<KeyCaller, 'keyId' | 'accountId'>;

const ticketIdBits = 128;
const isTicketId = (id: string): boolean => /^tkt_[0-9A-Z]{36}$/.test(id);
/** The purpose of a ticket. The seal of a ticket is valid only for this purpose. */
type TicketUse = 'ticket' | 'live-ticket';
/** The purpose of a token. */
type TokenUse = 'preview' | 'speech';
const previewSeconds = 3600;
/**
 * Largest sealed content. The content of a ticket for events is a request, which may be as large as a request body,
 * plus field names and defaults.
 */
const factsBytesMax = requestBytesMax + 4096;
/** The row decides when a ticket expires. The seal lasts longer, because the clocks of replicas may differ. */
const sealedSeconds = 3600;

/** Each ticket counts as at least `ticketCharsMin`, since a ticket for one letter takes memory too. */
const charsHeldBy = ({ texts }: SpeechRequest) =>
  Math.max(
    texts.reduce((sum, { source }) => sum + source.length, 0),
    ticketCharsMin,
  );

export function createTickets({ rows, seal }: { rows: TicketRows; seal: Accounts['seal'] }) {
  const issue = async (use: TicketUse, { keyId, accountId }: TicketHolder, chars: number, about: object) => {
    const ticketId = createId('tkt', ticketIdBits);
    const nowMs = await rows.now();
    const expiresAtMs = nowMs + ticketMs;
    const sealed = await seal.close(use, { ...about, ticketId }, sealedSeconds, factsBytesMax);
    const outcome = await rows.add({ ticketId, keyId, accountId, chars, sealed, expiresAtMs }, nowMs);
    const retryAfterSeconds = ticketMs / 1000;
    if (outcome === 'account') {
      const message = 'This account has too many unused tickets. Use them, or wait until they expire.';
      throw new Failure('rate_limit_exceeded', { message, limitReason: 'requests', retryAfterSeconds });
    }
    if (outcome === 'all') throw new Failure('overloaded', { retryAfterSeconds });
    return { ticketId, expiresAtMs };
  };
  /** The key that a ticket was issued to is verified again when the ticket is used. */
  const take = async (use: TicketUse, ticketId: string) => {
    const row = isTicketId(ticketId) ? await rows.take(ticketId, await rows.now()) : undefined;
    const facts = row && (await seal.open(use, row.sealed, factsBytesMax));
    return facts?.ticketId === ticketId ? { facts, keyId: row!.keyId } : undefined;
  };
  return {
    /** Whether a ticket can have this id. */
    isId: isTicketId,
    issue: (request: SpeechRequest, holder: TicketHolder) =>
      issue('ticket', holder, charsHeldBy(request), { request: toStoredRequest(request) }),
    /** Returns the ticket and invalidates it, or returns undefined if the ticket is unknown, used or expired. */
    async use(ticketId: string) {
      const taken = await take('ticket', ticketId);
      return taken && { request: fromStoredRequest(taken.facts.request), ticketId, keyId: taken.keyId };
    },
    issueLive: (holder: TicketHolder) => issue('live-ticket', holder, ticketCharsMin, {}),
    /** Like `use`, but for a live-speech ticket. */
    useLive: (ticketId: string) => take('live-ticket', ticketId),
    issueToken: (use: TokenUse, { keyId }: TicketHolder, seconds: number = previewSeconds): Promise<string> =>
      seal.close(use, { keyId }, seconds),
    /** Returns the id of the key that the token was issued to, if the token is valid. */
    async openToken(use: TokenUse, token: string): Promise<string | undefined> {
      const facts = await seal.open(use, token);
      return facts && String(facts.keyId);
    },
  };
}

/**
 * A row of the table `tickets`. It contains one encrypted request, which the bearer may start at any replica. Using a
 * ticket deletes its row.
 */
interface TicketRow {
  ticketId: string;
  keyId: string;
  /** Account of the key. */
  accountId: string;
  /** Length of the request's text. The sum over all tickets is limited. */
  chars: number;
  sealed: string;
  expiresAtMs: number;
}

const columns = createColumns<TicketRow>('tickets', toNames('ticketId keyId accountId chars sealed expiresAtMs'));

type TicketRows = ReturnType<typeof createTicketRows>;

export function createTicketRows(store: RowStore) {
  return {
    now: () => store.now(),
    /** Adds the ticket, unless the tickets of its account, or of all accounts, would then exceed a character limit. */
    add: (ticket: TicketRow, nowMs: number): Promise<'added' | 'account' | 'all'> =>
      store.transaction(async (rows) => {
        await rows.query('delete from tickets where expires_at_ms <= $1', nowMs);
        const sum = `select coalesce(sum(chars), 0) as "ofAll",
          coalesce(sum(case when account_id = $1 then chars else 0 end), 0) as "ofAccount" from tickets`;
        const [held] = await rows.query<{ ofAll: number; ofAccount: number }>(sum, ticket.accountId);
        if (Number(held!.ofAccount) + ticket.chars > ticketCharsPerAccountMax) return 'account';
        if (Number(held!.ofAll) + ticket.chars > ticketCharsMax) return 'all';
        await rows.query(columns.insert, ...columns.valuesOf(ticket));
        return 'added';
      }),
    /** Deletes the ticket and returns it. Returns undefined if the ticket does not exist or has expired. */
    async take(ticketId: string, nowMs: number): Promise<TicketRow | undefined> {
      const sql = `delete from tickets where ticket_id = $1 and expires_at_ms > $2 returning ${columns.returned}`;
      const [ticket] = await store.query<TicketRow>(sql, ticketId, nowMs);
      return ticket;
    },
  };
}
