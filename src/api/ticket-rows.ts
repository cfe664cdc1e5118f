// The table `tickets`: single-use tickets. A ticket contains one encrypted request, which the bearer may start at any
// replica. Using a ticket deletes its row.
import { createColumns, type RowStore, toNames } from '../platform/store/row-store.ts';

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

export type TicketRows = ReturnType<typeof createTicketRows>;

export function createTicketRows(store: RowStore) {
  return {
    now: () => store.now(),
    /** Adds the ticket, unless the tickets of its account, or of all accounts, would then exceed a character limit. */
    add: (
      ticket: TicketRow,
      limits: { ofAccount: number; ofAll: number },
      nowMs: number,
    ): Promise<'added' | 'account' | 'all'> =>
      store.transaction(async (rows) => {
        await rows.query('delete from tickets where expires_at_ms <= $1', nowMs);
        const sum = `select coalesce(sum(chars), 0) as "ofAll",
          coalesce(sum(case when account_id = $1 then chars else 0 end), 0) as "ofAccount" from tickets`;
        const [held] = await rows.query<{ ofAll: number; ofAccount: number }>(sum, ticket.accountId);
        if (Number(held!.ofAccount) + ticket.chars > limits.ofAccount) return 'account';
        if (Number(held!.ofAll) + ticket.chars > limits.ofAll) return 'all';
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
